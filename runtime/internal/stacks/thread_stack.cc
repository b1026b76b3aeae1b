#include "runtime/internal/stacks/thread_stack.h"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

CoroutineStacks::Place CoroutineStacks::AboveLocked(uintptr_t address) {
  return std::upper_bound(
      by_address_.begin(), by_address_.end(), address,
      [](uintptr_t at, const CoroutineStack* stack) { return at < stack->range.low; });
}

// Memory for the exception may be sampled, and a callback may collect, which takes the mutex.
void CoroutineStacks::Add(CoroutineStack* stack) {
  if (!TryAdd(stack)) throw std::bad_alloc();
}

bool CoroutineStacks::TryAdd(CoroutineStack* stack) {
  const MutexHolder hold(mutex_);
  if (!TryPush(by_address_, stack)) return false;
  by_address_.pop_back();
  const StackRange& range = stack->range;
  const Place above = AboveLocked(range.low);
  ALLOMON_GC_CHECK(
      (above == by_address_.end() || range.high <= (*above)->range.low) &&
          (above == by_address_.begin() || above[-1]->range.high <= range.low),
      "rule.stack: two registered stacks overlap; a RegisteredStack ends before its memory does");
  by_address_.insert(above, stack);
  return true;
}

void CoroutineStacks::Remove(const CoroutineStack* stack) {
  const MutexHolder hold(mutex_);
  const Place place = AboveLocked(stack->range.low) - 1;
  ALLOMON_DCHECK("inv.stacks.apart", *place == stack);
  by_address_.erase(place);
}

void CoroutineStacks::AddFrame(CoroutineFrame* frame) {
  const MutexHolder hold(mutex_);
  frame->next = first_frame_;
  if (first_frame_ != nullptr) first_frame_->previous = frame;
  first_frame_ = frame;
}

void CoroutineStacks::RemoveFrame(CoroutineFrame* frame) {
  const MutexHolder hold(mutex_);
  (frame->previous != nullptr ? frame->previous->next : first_frame_) = frame->next;
  if (frame->next != nullptr) frame->next->previous = frame->previous;
}

CoroutineStack* CoroutineStacks::FindLocked(uintptr_t address) {
  const Place above = AboveLocked(address);
  if (above == by_address_.begin() || !above[-1]->range.Contains(address)) return nullptr;
  return above[-1];
}

CoroutineStack* CoroutineStacks::Find(uintptr_t address) {
  const MutexHolder hold(mutex_);
  return FindLocked(address);
}

ALLOMON_GC_SCANS void CoroutineStacks::FindInterrupted(uintptr_t low, uintptr_t high) {
  const MutexHolder hold(mutex_);
  if (by_address_.empty()) return;
  for (uintptr_t at = low; at < high; at += sizeof(uintptr_t)) {
    const uintptr_t word = *reinterpret_cast<const uintptr_t*>(at);
    CoroutineStack* const stack = FindLocked(word);
    if (stack == nullptr) continue;
    uintptr_t& lowest = stack->interrupted_at;
    lowest = lowest == 0 ? word : std::min(lowest, word);
  }
}

// A function may use these bytes below its stack pointer without moving it (System V ABI for
// x86-64, 3.2.2).  The kernel leaves them alone when it calls a handler.
#if defined(__x86_64__)
constexpr uintptr_t kRedZoneBytes = 128;
#else
constexpr uintptr_t kRedZoneBytes = 0;
#endif

// Calls no malloc: a lock of the world is held.
void ThreadStack::NoteStand(CoroutineStacks& coroutines) {
  here.NoteFakeStack();
  signal = {};
  const uintptr_t at = here.point.stack_pointer;
  if (coroutines.Find(at) != nullptr) {
    ALLOMON_GC_CHECK(
        left.point.stack_pointer != 0,
        "rule.stack: a thread is on a registered stack, and has not called LeaveStack() "
        "on its own");
    return;
  }
  if (own.Contains(at)) return;
  signal = SignalStack();
  if (signal.Contains(at)) return;
  // The limit of the first thread's stack may have been raised since the program began.
  ALLOMON_GC_CHECK(own.high == FirstStack().high && ReachesDownTo(own, at),
                   "rule.stack: the heap is used on a stack that is not the thread's own; "
                   "gc::RegisteredStack tells of a coroutine's");
  own.low = at;
}

void ThreadStack::Scan(CoroutineStacks& coroutines, WordVisitor& visitor) const {
  const uintptr_t at = here.point.stack_pointer;
  if (at == 0) return;
  CoroutineStack* const coroutine = coroutines.Find(at);
  if (coroutine == nullptr && own.Contains(at)) return ScanStack(here, own.high, visitor);
  ScanStack(left, own.high, visitor);
  if (coroutine != nullptr) {
    coroutine->is_in_use = true;
    return ScanStack(here, coroutine->range.high, visitor);
  }
  ScanStack(here, signal.high, visitor);
  // Scans what the signal interrupted: functions on the thread's own stack, or on a coroutine's
  // stack that has run on since it was left.
  const auto scan_from = [&](uintptr_t lowest, const StackRange& range) {
    ScannedStack interrupted;
    interrupted.fake_stack = here.fake_stack;
    interrupted.point.stack_pointer = std::max(lowest - kRedZoneBytes, range.low);
    ScanStack(interrupted, range.high, visitor);
  };
  const uintptr_t lowest_own = LowestAddressOf(own, at, signal.high);
  if (lowest_own < own.high) scan_from(lowest_own, own);
  coroutines.FindInterrupted(at, signal.high);
  coroutines.ForEach([&](CoroutineStack& stack) {
    const uintptr_t lowest = std::exchange(stack.interrupted_at, 0);
    if (lowest != 0) scan_from(lowest, stack.range);
  });
}

void ScanCoroutines(CoroutineStacks& coroutines, WordVisitor& visitor) {
  const auto scan = [&visitor](CoroutineStack& stack) {
    if (stack.is_in_use) {
      stack.is_in_use = false;
    } else if (stack.was_left) {
      ScanStack(stack.left, stack.range.high, visitor);
    } else {
      ScannedStack whole;
      whole.point.stack_pointer = stack.range.low;
      ScanStack(whole, stack.range.high, visitor);
    }
  };
  coroutines.ForEach(
      scan, [&visitor](const CoroutineFrame& frame) { visitor.Visit(frame.begin(), frame.end()); });
}

}  // namespace allomon::gc::internal
