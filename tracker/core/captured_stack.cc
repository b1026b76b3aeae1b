#include "tracker/core/captured_stack.h"

#include <algorithm>

#include "tracker/callstack/capture.h"
#include "tracker/core/stack_table.h"
#include "tracker/sampling/countdown.h"

namespace allomon::internal {

__thread StackMemo stack_memo __attribute__((ALLOMON_TLS_MODEL)) = {};

namespace {

// Code of malloc, operator new and their slow paths.  Set before the first sample.
uintptr_t g_allocator_begin = 0;
uintptr_t g_allocator_end = 0;

// operator new calls malloc's slow path, and where the compiler made no tail call so does malloc:
// at most this many frames are ours.
constexpr uint32_t kAllocatorFrames = 4;

bool IsAllocator(uintptr_t pc) {
  return pc - g_allocator_begin < g_allocator_end - g_allocator_begin;
}

// A capture without the allocator's own frames.
struct Captured {
  const uintptr_t* frames;
  uint32_t depth;
  bool cut;
  uint64_t serial;

  StackKey key() const { return {frames, depth, cut}; }
};

// The stack was walked anew, but may have the same return addresses as the last one: the next level
// of a recursion, or the same line again after another one.
bool IsSame(const StackView& last, const Captured& captured) {
  return last.depth == captured.depth && last.cut == captured.cut &&
         SameFrames(last.frames, captured.frames, captured.depth);
}

Captured Capture(const FrameState& caller, uintptr_t* frames, uint32_t room,
                 uint32_t callstack_size) {
  Captured captured = {frames, 0, false, 0};
  size_t depth = CaptureCallstackWithSerial(caller, frames, room, &captured.cut, &captured.serial);
  for (; depth > 0 && IsAllocator(*captured.frames); --depth) ++captured.frames;
  if (depth > callstack_size) {
    depth = callstack_size;
    captured.cut = true;
  }
  captured.depth = static_cast<uint32_t>(depth);
  return captured;
}

// Returns the number of outermost frames that a new stack shares with the last one.  For these the
// walk found the same callers as last time.
uint32_t SharedDepth(const StackView& last, const Captured& captured) {
  const uint32_t most = std::min(last.depth, captured.depth);
  const uintptr_t* known = last.frames + last.depth;
  const uintptr_t* frame = captured.frames + captured.depth;
  uint32_t shared = 0;
  while (shared < most && SameFrames(--known, --frame, 1)) ++shared;
  return shared;
}

}  // namespace

void LeaveOutText(uintptr_t begin, uintptr_t end) {
  g_allocator_begin = begin;
  g_allocator_end = end;
}

size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames) {
  bool cut = false;
  const size_t depth = CaptureCallstackOfLoadedCode(caller, frames, max_frames, &cut);
  size_t ours = 0;
  while (ours < depth && IsAllocator(frames[ours])) ++ours;
  memmove(frames, frames + ours, (depth - ours) * sizeof(uintptr_t));
  return depth - ours;
}

const CapturedStack& CaptureChangedSlow(uint32_t callstack_size, const FrameState& caller) {
  static constexpr CapturedStack kNone;
  if (callstack_size == 0) return kNone;
  const uint32_t room = callstack_size + (IsAllocator(caller.pc) ? kAllocatorFrames : 0);
  uintptr_t* frames = static_cast<uintptr_t*>(__builtin_alloca(room * sizeof(uintptr_t)));
  StackMemo& memo = stack_memo;
  Captured captured = Capture(caller, frames, room, callstack_size);
  CapturedStack stack = memo.stack;
  if (stack.id == 0 || !IsSame(stack.view, captured)) {
    StackKey key = captured.key();
    stack = Stacks().Find(key);
    if (stack.id == 0) {
      const uint32_t shared = SharedDepth(memo.stack.view, captured);
      if (ForgetReplacedCode(captured.frames, captured.depth - shared)) {
        captured = Capture(caller, frames, room, callstack_size);
        key = captured.key();
      }
      stack = Stacks().Insert(key);
    }
  }
  // Id 0 may mean that memory was short; a later try may succeed.
  memo.serial = stack.id != 0 ? captured.serial : 0;
  memo.callstack_size = callstack_size;
  memo.stack = stack;
  return memo.stack;
}

}  // namespace allomon::internal
