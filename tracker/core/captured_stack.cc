#include "tracker/core/captured_stack.h"

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

// The stack has other frames than last time, but may be of the same functions: the next level of a
// recursion, or the same line again after another one.
bool IsSame(const StackView& view, const uintptr_t* frames, size_t depth, bool cut) {
  return view.depth == depth && view.cut == cut && SameFrames(view.frames, frames, depth);
}

CapturedStack Intern(const CapturedStack& last, const uintptr_t* frames, size_t depth,
                     uint32_t callstack_size, bool cut) {
  for (; depth > 0 && IsAllocator(*frames); --depth) ++frames;
  if (depth > callstack_size) {
    depth = callstack_size;
    cut = true;
  }
  if (last.id != 0 && IsSame(last.view, frames, depth, cut)) return last;
  return Stacks().InternAndView(frames, static_cast<uint32_t>(depth), cut);
}

}  // namespace

void LeaveOutText(uintptr_t begin, uintptr_t end) {
  g_allocator_begin = begin;
  g_allocator_end = end;
}

size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames) {
  bool cut = false;
  const size_t depth = CaptureCallstack(caller, frames, max_frames, &cut);
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
  bool cut = false;
  uint64_t serial = 0;
  const size_t depth = CaptureCallstackWithSerial(caller, frames, room, &cut, &serial);
  StackMemo& memo = stack_memo;
  const CapturedStack stack = Intern(memo.stack, frames, depth, callstack_size, cut);
  // Id 0 may be for want of memory, which may come.
  memo.serial = stack.id != 0 ? serial : 0;
  memo.callstack_size = callstack_size;
  memo.stack = stack;
  return memo.stack;
}

}  // namespace allomon::internal
