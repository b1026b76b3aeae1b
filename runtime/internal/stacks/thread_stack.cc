#include "runtime/internal/stacks/thread_stack.h"

#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

void CoroutineStacks::Add(CoroutineStack* stack) {
  const MutexHolder hold(mutex_);
  stack->next = first_;
  first_ = stack;
}

void CoroutineStacks::Remove(CoroutineStack* stack) {
  const MutexHolder hold(mutex_);
  CoroutineStack** link = &first_;
  while (*link != stack) link = &(*link)->next;
  *link = stack->next;
}

CoroutineStack* CoroutineStacks::Find(uintptr_t address) {
  const MutexHolder hold(mutex_);
  CoroutineStack* stack = first_;
  while (stack != nullptr && !stack->range.Contains(address)) stack = stack->next;
  return stack;
}

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
  const auto scan_interrupted = [&](const StackRange& range) {
    ScannedStack interrupted;
    interrupted.fake_stack = here.fake_stack;
    interrupted.point.stack_pointer = LowestAddressOf(range, at, signal.high);
    ScanStack(interrupted, range.high, visitor);
  };
  scan_interrupted(own);
  coroutines.ForEach([&](const CoroutineStack& stack) { scan_interrupted(stack.range); });
}

void ScanCoroutines(CoroutineStacks& coroutines, WordVisitor& visitor) {
  coroutines.ForEach([&visitor](CoroutineStack& stack) {
    if (stack.is_in_use) {
      stack.is_in_use = false;
    } else if (stack.was_left) {
      ScanStack(stack.left, stack.range.high, visitor);
    } else {
      ScannedStack whole;
      whole.point.stack_pointer = stack.range.low;
      ScanStack(whole, stack.range.high, visitor);
    }
  });
}

}  // namespace allomon::gc::internal
