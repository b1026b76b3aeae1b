// Runs the walker on structures of an imaginary Lua: intact ones, and ones as crashes, other
// versions and other threads may leave.  Nothing faults, and each walk ends.
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/lua/describe.h"
#include "tracker/lua/frames.h"
#include "tracker/lua/layout.h"

namespace allomon::lua {
namespace {

using internal::InterpretedFrame;
using internal::InterpreterWalk;
using internal::kWalkEnd;
using internal::kWalkFrame;
using internal::kWalkLost;
using internal::NativeFrames;
using internal::PlaceDescription;

constexpr size_t kArenaBytes = 1 << 16;
constexpr size_t kStackBytes = 4096;
constexpr int kMostFrames = 300;

constexpr uintptr_t kInLoop = 0x1010;
constexpr uintptr_t kInProtection = 0x2010;
constexpr uintptr_t kElsewhere = 0x3010;

RunningLua MadeUpLua() {
  RunningLua lua = {};
  lua.loop = {0x1000, 0x1100};
  lua.protections[0] = {0x2000, 0x2100};
  lua.protection_count = 1;
  return lua;
}

uintptr_t AddressOf(const void* data) { return reinterpret_cast<uintptr_t>(data); }

// States with calls, and the native stack of the thread that runs them.
class Memory {
 public:
  Memory() { sps_.push_back(AddressOf(stack_.data())); }

  uintptr_t Take(size_t bytes) {
    const uintptr_t start = AddressOf(arena_.data()) + used_;
    used_ += (bytes + 15) / 16 * 16;
    return start;
  }
  template <typename T>
  static void Set(uintptr_t address, T value) {
    memcpy(reinterpret_cast<void*>(address), &value, sizeof(value));
  }

  // Pushes from the innermost frame outwards, 64 bytes each.
  uintptr_t PushNative(uintptr_t pc) {
    pcs_.push_back(pc);
    const uintptr_t sp = sps_.back();
    sps_.push_back(sp + 64);
    return sp;
  }
  void PushProtection(uintptr_t state) {
    const uintptr_t frame = PushNative(kInProtection);
    Set(frame + 8, state);
    Set(frame + 16, uintptr_t{0});  // the record of the caller: there is no further one
    Set(state + kStateRecovery, frame + 16);
  }

  uintptr_t String(const std::string& text) {
    const uintptr_t string = Take(kStringBytes + text.size() + 1);
    Set(string + kObjectTag, kShortString);
    Set(string + kShortLength, static_cast<uint8_t>(text.size()));
    memcpy(reinterpret_cast<void*>(string + kStringBytes), text.data(), text.size());
    return string;
  }
  // Makes code of eight instructions, on the lines 11, 11, 12, 13, ...
  uintptr_t Code(const std::string& source) {
    const uintptr_t code = Take(kPrototypeBytes);
    const uintptr_t lines = Take(8);
    memcpy(reinterpret_cast<void*>(lines), "\1\0\1\1\1\1\1\1", 8);
    Set(code + kObjectTag, kPrototype);
    Set<int32_t>(code + kCodeCount, 8);
    Set<int32_t>(code + kLineCount, 8);
    Set<int32_t>(code + kFirstLine, 10);
    Set(code + kCode, Take(32));
    Set(code + kLines, lines);
    Set(code + kSource, String(source));
    return code;
  }
  uintptr_t State() {
    const uintptr_t state = Take(256);
    const uintptr_t stack = Take(1024);
    Set(state + kObjectTag, kThread);
    Set(state + kStateStack, stack);
    Set(state + kStateStackEnd, stack + 1024);
    Set(state + kStateCall, state + kStateFirstCall);
    return state;
  }
  uintptr_t Call(uintptr_t state, uintptr_t code, int next, uint16_t flags) {
    const uintptr_t call = Take(kCallBytes);
    const uintptr_t closure = Take(40);
    uintptr_t caller;
    memcpy(&caller, reinterpret_cast<void*>(state + kStateCall), sizeof(caller));
    uintptr_t stack;
    memcpy(&stack, reinterpret_cast<void*>(state + kStateStack), sizeof(stack));
    const uintptr_t value = stack + 16 * calls_++;
    uintptr_t first = 0;
    if (code != 0) {
      memcpy(&first, reinterpret_cast<void*>(code + kCode), sizeof(first));
      Set(closure + kObjectTag, kLuaClosure);
      Set(closure + kClosurePrototype, code);
      Set(value, closure);
      Set(value + kValueTag, static_cast<uint8_t>(kLuaClosure | kOfCollector));
    }
    Set(call + kCallFunction, value);
    Set(call + kCallCaller, caller);
    Set(call + kCallInstruction, first + static_cast<uintptr_t>(next) * kInstructionBytes);
    Set(call + kCallFlags, flags);
    Set(state + kStateCall, call);
    return call;
  }

  NativeFrames native() const { return {pcs_.data(), sps_.data(), pcs_.size()}; }
  std::vector<char>& arena() { return arena_; }
  std::vector<char>& stack() { return stack_; }
  size_t used() const { return used_; }

 private:
  std::vector<char> arena_ = std::vector<char>(kArenaBytes);
  std::vector<char> stack_ = std::vector<char>(kStackBytes);
  size_t used_ = 0;
  size_t calls_ = 0;
  std::vector<uintptr_t> pcs_;
  std::vector<uintptr_t> sps_;
};

// Each frame as "name file:line"; the native frames that run them, from 0; the result of the walk.
struct Walked {
  std::vector<std::string> frames;
  std::vector<long> native;
  int end = kWalkEnd;
};

Walked Walk(const Memory& memory) {
  RunningLua lua = MadeUpLua();
  Walked walked;
  InterpreterWalk walk = {sizeof(walk), {}};
  walked.end = BeginWalk(&lua, memory.native(), &walk);
  while (walked.end == kWalkFrame && walked.frames.size() < kMostFrames) {
    InterpretedFrame frame = {sizeof(frame), 0, 0, 0, {}};
    walked.end = NextFrame(&lua, &walk, &frame);
    if (walked.end != kWalkFrame) break;
    char room[3072];
    PlaceDescription what = {sizeof(what), "", 0, "", 0, 0, 0, room, sizeof(room)};
    const int described = DescribeFunction(&lua, &frame, &what);
    walked.frames.push_back(described == kWalkFrame
                                ? std::string(what.name, what.name_bytes) + " " +
                                      std::string(what.file, what.file_bytes) + ":" +
                                      std::to_string(what.line)
                                : std::to_string(described));
    const auto first = static_cast<long>(memory.native().sps[0]);
    walked.native.push_back(
        frame.native_frame == 0 ? -1 : (static_cast<long>(frame.native_frame) - first) / 64);
  }
  return walked;
}

using Frames = std::vector<std::string>;
using Native = std::vector<long>;

class BrokenDataTest : public ::testing::Test {
 protected:
  Memory memory_;
  const uintptr_t code_ = memory_.Code("@app.lua");
};

TEST_F(BrokenDataTest, WholeData) {
  const uintptr_t state = memory_.State();
  memory_.Call(state, code_, 4, kBeginsLoop);
  memory_.Call(state, code_, 3, 0);
  memory_.Call(state, 0, 0, kCallsNative);
  memory_.Call(state, code_, 0, kBeginsLoop);
  for (const uintptr_t pc : {kElsewhere, kInLoop, kElsewhere, kInLoop}) memory_.PushNative(pc);
  memory_.PushProtection(state);
  const Walked walked = Walk(memory_);
  const std::string name = "<app.lua:10> app.lua:";
  EXPECT_EQ(walked.frames, (Frames{name + "10", name + "12", name + "13"}));
  EXPECT_EQ(walked.native, (Native{1, 3, 3}));
  EXPECT_EQ(walked.end, kWalkEnd);
}

TEST_F(BrokenDataTest, AThreadThatRunsNone) {
  memory_.PushNative(kElsewhere);
  EXPECT_EQ(Walk(memory_).end, kWalkEnd);
  memory_.PushProtection(memory_.State());
  EXPECT_TRUE(Walk(memory_).frames.empty());
}

TEST_F(BrokenDataTest, ACoroutineBeforeWhoResumedIt) {
  const uintptr_t outer = memory_.State();
  memory_.Call(outer, code_, 2, kBeginsLoop);
  const uintptr_t inner = memory_.State();
  // A resumed coroutine: one loop runs the inner call, and begins the outer ones when it returns.
  memory_.Call(inner, code_, 3, kBeginsLoop);
  memory_.Call(inner, 0, 0, kCallsNative);
  memory_.Call(inner, code_, 4, kBeginsLoop);
  memory_.PushNative(kInLoop);
  memory_.PushProtection(inner);
  memory_.PushNative(kElsewhere);
  memory_.PushNative(kInLoop);
  memory_.PushProtection(outer);
  const Walked walked = Walk(memory_);
  const std::string name = "<app.lua:10> app.lua:";
  EXPECT_EQ(walked.frames, (Frames{name + "13", name + "12", name + "11"}));
  EXPECT_EQ(walked.native, (Native{0, -1, 3}));
}

TEST_F(BrokenDataTest, AStackThatIsBeingMovedHasDistances) {
  const uintptr_t state = memory_.State();
  memory_.Call(state, code_, 3, kBeginsLoop);
  const uintptr_t call = memory_.Call(state, code_, 4, 0);
  memory_.Set(call + kCallFunction, uintptr_t{16});
  memory_.PushNative(kInLoop);
  memory_.PushProtection(state);
  EXPECT_EQ(Walk(memory_).frames.size(), 2u);
}

TEST_F(BrokenDataTest, AProtectedCallOfNobodyIsLost) {
  memory_.PushNative(kInLoop);
  memory_.PushNative(kInProtection);
  memory_.PushNative(kElsewhere);
  EXPECT_EQ(Walk(memory_).end, kWalkLost);
}

TEST_F(BrokenDataTest, PointersToNowhere) {
  void* const page = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uintptr_t no_page = AddressOf(page);
  for (const uintptr_t nowhere :
       {no_page, no_page + 4088, uintptr_t{9}, uintptr_t{8}, UINTPTR_MAX, UINTPTR_MAX - 7,
        uintptr_t{1} << 47, uintptr_t{1} << 63, uintptr_t{0xdddddddddddddddd}}) {
    Memory memory;
    const uintptr_t code = memory.Code("@app.lua");
    const uintptr_t state = memory.State();
    const uintptr_t call = memory.Call(state, code, 3, kBeginsLoop);
    memory.PushNative(kInLoop);
    memory.PushProtection(state);
    memory.Set(call + kCallCaller, nowhere);
    EXPECT_EQ(Walk(memory).end, kWalkLost) << std::hex << nowhere;
    EXPECT_EQ(Walk(memory).frames, Frames{"<app.lua:10> app.lua:12"});
    for (const uintptr_t field : {kSource, kLines, kCode}) {
      std::vector<char> kept = memory.arena();
      memory.Set(code + field, nowhere);
      EXPECT_EQ(Walk(memory).end, kWalkLost) << field << " " << std::hex << nowhere;
      memcpy(memory.arena().data(), kept.data(), kept.size());
    }
    memory.Set(call + kCallFunction, nowhere);
    EXPECT_EQ(Walk(memory).end, kWalkLost);
    memory.Set(state + kStateCall, nowhere);
    EXPECT_EQ(Walk(memory).end, kWalkLost);
    memory.Set(state + kStateRecovery, nowhere);
    EXPECT_EQ(Walk(memory).end, kWalkLost);
  }
  munmap(page, 8192);
}

TEST_F(BrokenDataTest, AChainWithoutEnd) {
  const uintptr_t state = memory_.State();
  const uintptr_t call = memory_.Call(state, code_, 3, kBeginsLoop);
  memory_.Set(call + kCallCaller, call);
  memory_.PushNative(kInLoop);
  memory_.PushProtection(state);
  EXPECT_EQ(Walk(memory_).frames.size(), static_cast<size_t>(kMostFrames));
  memory_.Set(call + kCallFlags, kCallsNative);
  EXPECT_EQ(Walk(memory_).end, kWalkLost);
}

// All walks end and read only existing memory, whatever bytes they meet.
TEST_F(BrokenDataTest, FlippedBytes) {
  const uintptr_t outer = memory_.State();
  const uintptr_t inner = memory_.State();
  for (int i = 0; i < 20; ++i) {
    const uint16_t flags = i % 4 == 0 ? kBeginsLoop : 0;
    const uintptr_t code = i % 3 == 0 ? memory_.Code("=text") : code_;
    memory_.Call(i % 2 == 0 ? outer : inner, code, i % 8, flags);
  }
  memory_.PushNative(kInLoop);
  memory_.PushProtection(inner);
  memory_.PushNative(kInLoop);
  memory_.PushProtection(outer);
  const std::vector<char> whole = memory_.arena();
  const std::vector<char> whole_stack = memory_.stack();
  std::mt19937_64 random(54);
  size_t lost = 0;
  for (int round = 0; round < 5000; ++round) {
    memcpy(memory_.arena().data(), whole.data(), whole.size());
    memcpy(memory_.stack().data(), whole_stack.data(), whole_stack.size());
    for (uint64_t i = 0; i <= random() % 8; ++i) {
      memory_.arena()[random() % memory_.used()] = static_cast<char>(random());
    }
    memory_.stack()[random() % 256] = static_cast<char>(random());
    lost += Walk(memory_).end == kWalkLost;
  }
  EXPECT_GT(lost, 100u);
}

}  // namespace
}  // namespace allomon::lua
