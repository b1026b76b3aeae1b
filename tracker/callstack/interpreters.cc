#include "tracker/callstack/interpreters.h"

#include "tracker/base/check.h"
#include "tracker/callstack/managed_functions.h"

namespace allomon::internal {

std::atomic<int> interpreter_count{0};
std::atomic<bool> interpreters_need_native_frames{false};

namespace {

// A place is taken by a compare-exchange, and is complete when `ready`.
struct Slot {
  std::atomic<bool> taken;
  std::atomic<bool> ready;
  Interpreter interpreter;
};
Slot g_slots[kMostInterpreters];

// Room for the texts of a description: a name and a file of maximum length.
constexpr size_t kRoomBytes = 3072;

// Open managed calls of the thread, innermost first.
class ManagedCalls {
 public:
  // Calls whose frames lie below `stack_end` are stale: longjmp has skipped their ends.
  explicit ManagedCalls(uintptr_t stack_end) : next_(managed_stack.top) {
    while (has_call() && frame() < stack_end) --next_;
  }
  bool has_call() const { return next_ > managed_stack.base; }
  uintptr_t frame() const { return next_[-1].frame; }
  uintptr_t Take() {
    ALLOMON_DCHECK("inv.managed.take", has_call());
    return (--next_)->address & ~kWatched;
  }

 private:
  const ManagedEntry* next_;
};

// The stack that is written.
class Merged {
 public:
  Merged(uintptr_t* frames, size_t max_frames, bool* truncated)
      : frames_(frames), max_frames_(max_frames), truncated_(*truncated) {}

  bool Add(uintptr_t address) {
    if (address == kNoFrame || address == 0) return true;
    if (count_ == max_frames_) {
      truncated_ = true;
      return false;
    }
    frames_[count_++] = address;
    return true;
  }
  size_t count() const { return count_; }

 private:
  uintptr_t* const frames_;
  const size_t max_frames_;
  size_t count_ = 0;
  bool& truncated_;
};

// Interpreted frames and managed calls of the thread, innermost first.
class OtherFrames {
 public:
  OtherFrames(AllInterpretedFrames* interpreted, uintptr_t stack_end)
      : interpreted_(*interpreted), calls_(stack_end) {
    FindNext();
  }

  // Returns the stack address of the next one; UINTPTR_MAX: there is no next one, or its place is
  // not known.
  uintptr_t next_place() const { return next_place_; }
  // Whether the next one is an interpreted frame, which replaces the native one that it lies in.
  bool next_is_frame() const { return next_ != nullptr; }

  uintptr_t Take() {
    [[maybe_unused]] const uintptr_t place = next_place_;
    const uintptr_t address = next_ != nullptr ? next_->Address() : calls_.Take();
    if (next_ != nullptr) next_->Next();
    FindNext();
    ALLOMON_DCHECK_LE("inv.managed.order", place, next_place_);
    return address;
  }

 private:
  // If a call and a frame have the same place, the frame is the callee.
  void FindNext() {
    next_ = interpreted_.Innermost();
    next_place_ = next_ != nullptr ? next_->native_frame() : UINTPTR_MAX;
    if (!calls_.has_call() || calls_.frame() >= next_place_) return;
    next_ = nullptr;
    next_place_ = calls_.frame();
  }

  AllInterpretedFrames& interpreted_;
  ManagedCalls calls_;
  InterpretedFrames* next_;  // null: the next one is a call, or there are no more
  uintptr_t next_place_;
};

// Adds the frames and calls on the stack below `end`.  Sets *replaced if some are frames run by the
// native function whose own frame begins at `begin`.  Returns false if there is no more room.
bool AddBelow(uintptr_t begin, uintptr_t end, OtherFrames* others, Merged* merged, bool* replaced) {
  while (others->next_place() < end) {
    *replaced |= others->next_is_frame() && others->next_place() >= begin;
    if (!merged->Add(others->Take())) return false;
  }
  return true;
}

}  // namespace

bool RegisterInterpreter(const Interpreter& interpreter) {
  for (Slot& slot : g_slots) {
    if (slot.taken.exchange(true, std::memory_order_relaxed)) continue;
    slot.interpreter = interpreter;
    // Pairs with the acquire of walks: the interpreter's functions are there.
    slot.ready.store(true, std::memory_order_release);
    if (interpreter.begin_on != nullptr) interpreters_need_native_frames.store(true);
    // Release costs nothing here. A thread that sees the count and not the slot leaves it out.
    interpreter_count.fetch_add(1, std::memory_order_release);
    return true;
  }
  return false;
}

bool InterpretedFrames::Begin(const Interpreter& interpreter, const NativeFrames* native) {
  interpreter_ = &interpreter;
  walk_ = {sizeof(walk_), {}};
  const int began = native == nullptr ? interpreter.begin(interpreter.data, &walk_)
                                      : interpreter.begin_on(interpreter.data, *native, &walk_);
  if (began == kWalkEnd) return false;
  if (began == kWalkFrame) {
    Next();
  } else {
    Lose();
  }
  return has_frame_;
}

// The entry for lost frames comes after the last known frame.  If no frame is known, it comes after
// the whole stack: all that is known is that the program was in its interpreter.
void InterpretedFrames::Lose() {
  has_frame_ = is_lost_ = true;
  if (native_frame_ == 0) native_frame_ = UINTPTR_MAX;
}

void InterpretedFrames::Next() {
  has_frame_ = false;
  if (is_lost_) return;  // the entry for lost frames was the last
  frame_ = {sizeof(frame_), 0, 0, 0, {}};
  const int step = interpreter_->next(interpreter_->data, &walk_, &frame_);
  if (step == kWalkEnd) return;
  if (step != kWalkFrame) return Lose();
  has_frame_ = true;
  if (frame_.native_frame > native_frame_) native_frame_ = frame_.native_frame;
}

uintptr_t InterpretedFrames::Address() const {
  if (is_lost_) return LostFrame();
  const uintptr_t known = FindPlace({frame_.code, frame_.position});
  return __builtin_expect(known != 0, true) ? known : Describe();
}

__attribute__((noinline)) uintptr_t InterpretedFrames::Describe() const {
  const CodePlace place = {frame_.code, frame_.position};
  // Read before the interpreter is queried: if the code is freed meanwhile, the result is
  // forgotten.
  const uint32_t generation = CodeGeneration(frame_.code);
  char room[kRoomBytes];
  PlaceDescription what = {sizeof(what), "", 0, "", 0, 0, 0, room, sizeof(room)};
  const int told = interpreter_->describe(interpreter_->data, &frame_, &what);
  if (told == kWalkFrame) return EnterPlace(place, generation, what);
  if (told != kWalkEnd) return LostFrame();
  EnterNoFrame(place, generation);
  return kNoFrame;
}

void AllInterpretedFrames::Begin(const NativeFrames* native) {
  for (const Slot& slot : g_slots) {
    // Pairs with the release in RegisterInterpreter().
    if (!slot.ready.load(std::memory_order_acquire)) continue;
    if ((slot.interpreter.begin_on != nullptr) != (native != nullptr)) continue;
    ALLOMON_DCHECK_LT("inv.managed.take", count_, kMostInterpreters);
    if (frames_[count_].Begin(slot.interpreter, native)) ++count_;
  }
}

InterpretedFrames* AllInterpretedFrames::Innermost() {
  InterpretedFrames* innermost = nullptr;
  for (int i = 0; i < count_; ++i) {
    if (!frames_[i].has_frame()) continue;
    if (innermost == nullptr || frames_[i].native_frame() < innermost->native_frame()) {
      innermost = &frames_[i];
    }
  }
  return innermost;
}

bool HasInterpretedFrames() {
  if (InterpretersNeedNativeFrames()) return true;
  for (const Slot& slot : g_slots) {
    // Pairs with the release in RegisterInterpreter().
    if (!slot.ready.load(std::memory_order_acquire)) continue;
    InterpreterWalk walk = {sizeof(walk), {}};
    if (slot.interpreter.begin(slot.interpreter.data, &walk) != kWalkEnd) return true;
  }
  return false;
}

size_t MergeInterpretedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                              AllInterpretedFrames* interpreted, uintptr_t* merged,
                              size_t max_frames, bool* truncated) {
  OtherFrames others(interpreted, count != 0 ? sps[0] : 0);
  Merged stack(merged, max_frames, truncated);
  for (size_t i = 0; i < count; ++i) {
    bool replaced = false;
    const bool has_room = AddBelow(sps[i], sps[i + 1], &others, &stack, &replaced);
    if (!has_room || (!replaced && !stack.Add(frames[i]))) return stack.count();
  }
  if (others.next_is_frame() && others.next_place() == UINTPTR_MAX) stack.Add(others.Take());
  return stack.count();
}

}  // namespace allomon::internal
