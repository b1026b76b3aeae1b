#include "tracker/lua/probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <string_view>

#include "tracker/base/check.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/cfi_index.h"
#include "tracker/callstack/cfi_program.h"
#include "tracker/callstack/interpreters.h"
#include "tracker/lua/describe.h"
#include "tracker/lua/frames.h"
#include "tracker/lua/native_stack.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {
namespace {

using internal::InterpretedFrame;
using internal::InterpreterWalk;
using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::NativeFrames;
using internal::PlaceDescription;
using internal::ReadableMemory;

constexpr char kOtherVersion[] = "only versions 5.4.3 to 5.4.8 are known";
constexpr char kNoMemory[] = "there is no memory to try it out";
constexpr char kCannotRun[] = "it does not run a text";
constexpr char kNoTables[] = "its code has no unwind tables";
constexpr char kOtherLayout[] = "this build has other structures than its version's release";

// The program calls the native functions from the second line of its inner function.
constexpr char kName[] = "=allomon";
constexpr char kProgram[] =
    "local native = ...\n"
    "local function inner()\n"
    "  native()\n"
    "  return 1\n"
    "end\n"
    "local one = inner()\n"
    "return one\n";
constexpr const char* kTables[] = {"local t = {}", "local t = {1}", "local t = {[1] = 2}",
                                   "local t = {...}"};
// Index of the next instruction when these make or fill their tables.  NEWTABLE has an argument
// after it, which some loops have not passed yet; the other one is SETLIST.
constexpr uintptr_t kBehindNew = 3;
constexpr uintptr_t kBehindFill = 5;

constexpr size_t kMostFrames = 64;
constexpr size_t kMostFrameWords = 512;

struct NativeStack {
  uintptr_t pcs[kMostFrames];
  uintptr_t sps[kMostFrames + 1];
  size_t count;

  void Capture(const FrameState& caller) {
    count = CaptureNativeFrames(caller, pcs, sps, kMostFrames);
  }
  NativeFrames frames() const { return {pcs, sps, count}; }
};

// Finds the function that contains a return address.
bool FindFunction(uintptr_t return_address, CodeRange* function) {
  internal::CfiBytes bytes;
  internal::CfiEntry entry;
  if (internal::FindCfi(return_address - 1, &bytes, &entry) != internal::CfiLookup::kFound) {
    return false;
  }
  *function = {entry.pc_begin, entry.pc_end};
  return true;
}

// Memory for a short-lived state: freed blocks are not reused.
class Arena {
 public:
  Arena()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Arena() {
    if (is_there()) munmap(memory_, kBytes);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool is_there() const { return memory_ != MAP_FAILED; }
  void* Take(size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > kBytes - used_) return nullptr;
    void* const start = static_cast<char*>(memory_) + used_;
    used_ += bytes;
    ALLOMON_DCHECK_LE("inv.lua.probe", used_, kBytes);
    return start;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 20;
  void* const memory_;
  size_t used_ = 0;
};

class Probe {
 public:
  Probe(const LuaFunctions& functions, RunningLua* lua) : functions_(functions), lua_(*lua) {}

  const char* Run() {
    if (!arena_.is_there()) return kNoMemory;
    // Does not look at its state.
    if (functions_.version(nullptr) != 504) return kOtherVersion;
    state_ = functions_.newstate(Allocate, this);
    if (state_ == nullptr) return kNoMemory;
    ALLOMON_DCHECK_EQ("inv.lua.probe", running_, nullptr);
    running_ = this;
    const char* const why_not = RunAll();
    running_ = nullptr;
    functions_.close(state_);
    return why_not;
  }

 private:
  using Step = void (Probe::*)(const FrameState& caller);

  const char* RunAll() {
    if (!CallDirectly() || lua_.protection_count == 0) return kNoTables;
    if (!CallFromLua(&Probe::FindLoop)) return kCannotRun;
    if (lua_.loop.end == 0) return kNoTables;
    if (!CallFromLua(&Probe::Check) || !CallFromCoroutine()) return kCannotRun;
    if (checked_ != 2) return kOtherLayout;
    if (!WatchTables()) return kCannotRun;
    SetFrameWord();
    return nullptr;
  }

  // ---- What is run

  bool CallDirectly() {
    PushNative(&Probe::CallDirectlyStep);
    return functions_.pcallk(state_, 0, 0, 0, 0, nullptr) == 0;
  }
  bool CallFromLua(Step step) {
    if (!Load(kProgram)) return false;
    PushNative(step);
    return functions_.pcallk(state_, 1, 0, 0, 0, nullptr) == 0;
  }
  bool CallFromCoroutine() {
    void* const coroutine = functions_.newthread(state_);
    if (!Load(kProgram)) return false;
    PushNative(&Probe::Check);
    functions_.xmove(state_, coroutine, 2);
    int results;
    return functions_.resume(coroutine, state_, 1, &results) == 0;
  }
  bool WatchTables() {
    for (const char* text : kTables) {
      if (!Load(text)) return false;
      for (int i = 0; i < 3; ++i) PushNative(nullptr);
      watches_ = true;
      const int status = functions_.pcallk(state_, 3, 0, 0, 0, nullptr);
      watches_ = false;
      if (status != 0) return false;
    }
    return true;
  }

  bool Load(const char* text) {
    text_ = text;
    return functions_.load(state_, Read, this, kName, "t") == 0;
  }
  static const char* Read(void*, void* data, size_t* bytes) {
    Probe& probe = *static_cast<Probe*>(data);
    const char* const text = probe.text_;
    *bytes = text == nullptr ? 0 : strlen(text);
    probe.text_ = nullptr;
    return text;
  }
  void PushNative(Step step) {
    step_ = step;
    functions_.pushcclosure(state_, Native, 0);
  }
  __attribute__((noinline)) static int Native(void* state) {
    ALLOMON_DCHECK_NE("inv.lua.probe", running_, nullptr);
    running_->called_state_ = reinterpret_cast<uintptr_t>(state);
    (running_->*running_->step_)(ALLOMON_CALLER_FRAME());
    return 0;
  }
  __attribute__((noinline)) static void* Allocate(void* data, void* block, size_t old_bytes,
                                                  size_t bytes) {
    Probe& probe = *static_cast<Probe*>(data);
    if (bytes == 0) return nullptr;
    if (probe.watches_) probe.Watch(ALLOMON_CALLER_FRAME());
    void* const larger = probe.arena_.Take(bytes);
    if (larger != nullptr && block != nullptr) memcpy(larger, block, std::min(old_bytes, bytes));
    return larger;
  }

  // ---- What is learned

  void CallDirectlyStep(const FrameState& caller) {
    direct_.Capture(caller);
    LearnProtection(direct_);
  }

  // The protected call is the native frame that contains the state's record of it.
  void LearnProtection(const NativeStack& stack) {
    ReadableMemory memory = {};
    uintptr_t record;
    if (!memory.Load(called_state_ + kStateRecovery, &record)) return;
    for (size_t i = 0; i < stack.count; ++i) {
      CodeRange function;
      if (record < stack.sps[i] || record >= stack.sps[i + 1]) continue;
      if (FindFunction(stack.pcs[i], &function)) AddProtection(function);
    }
  }
  void AddProtection(const CodeRange& function) {
    for (int i = 0; i < lua_.protection_count; ++i) {
      if (lua_.protections[i].begin == function.begin) return;
    }
    if (lua_.protection_count < kMostProtections) {
      lua_.protections[lua_.protection_count++] = function;
    }
  }

  // The loop is the one function that is on the stack only if Lua calls.
  void FindLoop(const FrameState& caller) {
    stack_.Capture(caller);
    for (size_t i = 0; i < stack_.count; ++i) {
      CodeRange function;
      if (FindProtection(lua_, stack_.frames(), 0) == i) return;
      if (!FindFunction(stack_.pcs[i], &function)) continue;
      if (FindFrameIn(function, direct_.frames(), 0) < direct_.count) continue;
      lua_.loop = lua_.loop.end == 0 ? function : CodeRange{};
    }
  }

  // The walk must find the frames that the program has.
  void Check(const FrameState& caller) {
    stack_.Capture(caller);
    LearnProtection(stack_);
    InterpreterWalk walk = {sizeof(walk), {}};
    InterpretedFrame frame = {};
    const bool is_right = BeginWalk(&lua_, stack_.frames(), &walk) == kWalkFrame &&
                          NextFrame(&lua_, &walk, &frame) == kWalkFrame && IsCalled(frame, 2, 3) &&
                          IsInLoop(frame) && NextFrame(&lua_, &walk, &frame) == kWalkFrame &&
                          IsCalled(frame, 0, 6) && IsInLoop(frame) &&
                          NextFrame(&lua_, &walk, &frame) == kWalkEnd;
    checked_ += is_right;
  }
  bool IsInLoop(const InterpretedFrame& frame) const {
    const size_t index = FindFrameIn(lua_.loop, stack_.frames(), 0);
    return index < stack_.count && frame.native_frame == stack_.sps[index];
  }
  bool IsCalled(const InterpretedFrame& frame, uint32_t first_line, uint32_t line) {
    ReadableMemory memory = {};
    ObjectReader reader(&memory);
    CallWords words;
    Prototype prototype;
    char room[64];
    PlaceDescription what = {sizeof(what), "", 0, "", 0, 0, 0, room, sizeof(room)};
    return frame.position == line && reader.ReadCall(frame.own[1], &words) &&
           reader.ReadPrototype(reader.PrototypeOf(frame.own[0], words), &prototype) &&
           static_cast<uint32_t>(prototype.first_line) == first_line &&
           DescribeFunction(&lua_, &frame, &what) == kWalkFrame &&
           std::string_view(what.file, what.file_bytes) == kName + 1;
  }

  // Examines an allocation of a table.  If a register, but not the call's record, has the current
  // instruction, this native call is one of those that do not store it first.
  void Watch(const FrameState& caller) {
    stack_.Capture(caller);
    const size_t index = FindFrameIn(lua_.loop, stack_.frames(), 0);
    if (index == stack_.count) return;
    ReadableMemory memory = {};
    ObjectReader reader(&memory);
    uintptr_t call;
    CallWords words;
    Prototype prototype;
    const auto state = reinterpret_cast<uintptr_t>(state_);
    if (!reader.Load(state + kStateCall, &call) || !reader.ReadCall(call, &words) ||
        !reader.ReadPrototype(reader.PrototypeOf(state, words), &prototype)) {
      return;
    }
    for (const uint64_t number : internal::kSavedRegisters) {
      uintptr_t value;
      if (FindSavedRegister(stack_.frames(), index, number, &reader, &value) &&
          IsAhead(value, words, prototype)) {
        return AddUnsaved({stack_.pcs[index], number, 0});
      }
    }
    WatchFrame(index, words, prototype, &reader);
  }
  static bool IsAhead(uintptr_t value, const CallWords& words, const Prototype& prototype) {
    const uintptr_t ahead = value - prototype.code;
    return value > words.instruction &&
           (ahead == (kBehindNew - 1) * kInstructionBytes ||
            ahead == kBehindNew * kInstructionBytes || ahead == kBehindFill * kInstructionBytes);
  }

  // If the loop keeps the instruction in its frame, all such calls have it in the same word.
  void WatchFrame(size_t index, const CallWords& words, const Prototype& prototype,
                  ObjectReader* reader) {
    std::bitset<kMostFrameWords> has_it;
    const uintptr_t begin = stack_.sps[index];
    const size_t count = std::min((stack_.sps[index + 1] - begin) / 8, kMostFrameWords);
    for (size_t i = 0; i < count; ++i) {
      uintptr_t value;
      if (!LoadFromStack(begin + i * 8, reader, &value)) return;
      has_it[i] = IsAhead(value, words, prototype);
    }
    if (has_it.none()) return;
    frame_words_ &= has_it;
    AddUnsaved({stack_.pcs[index], 0, 0});
  }
  void AddUnsaved(const UnsavedCall& call) {
    for (int i = 0; i < lua_.unsaved_count; ++i) {
      if (lua_.unsaved[i].return_address == call.return_address) return;
    }
    if (lua_.unsaved_count < kMostUnsavedCalls) lua_.unsaved[lua_.unsaved_count++] = call;
  }
  void SetFrameWord() {
    size_t word = 0;
    while (word < kMostFrameWords && !frame_words_[word]) ++word;
    for (int i = 0; i < lua_.unsaved_count; ++i) {
      UnsavedCall& call = lua_.unsaved[i];
      if (call.register_number == 0 && word == kMostFrameWords) call.return_address = 0;
      call.frame_word = word;
    }
  }

  static Probe* running_;

  const LuaFunctions& functions_;
  RunningLua& lua_;
  Arena arena_;
  void* state_ = nullptr;
  uintptr_t called_state_ = 0;
  const char* text_ = nullptr;
  Step step_ = nullptr;
  bool watches_ = false;
  int checked_ = 0;
  std::bitset<kMostFrameWords> frame_words_ = ~std::bitset<kMostFrameWords>();
  NativeStack direct_ = {};
  NativeStack stack_ = {};
};

Probe* Probe::running_ = nullptr;

}  // namespace

const char* ProbeLua(const LuaFunctions& functions, RunningLua* lua) {
  *lua = {};
  return Probe(functions, lua).Run();
}

}  // namespace allomon::lua
