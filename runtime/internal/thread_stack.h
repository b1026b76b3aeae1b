// The native stacks of a heap's threads, and which of them a thread is on.
#ifndef ALLOMON_RUNTIME_INTERNAL_THREAD_STACK_H_
#define ALLOMON_RUNTIME_INTERNAL_THREAD_STACK_H_

#include "runtime/internal/stack_scan.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// A stack that the program has registered: a coroutine's.
struct CoroutineStack {
  StackRange range;
  ScannedStack left;       // by the last LeaveStack() on it
  bool was_left = false;   // else all of it is scanned
  bool is_in_use = false;  // found by a scan: a thread stands on it
  CoroutineStack* next = nullptr;
};

// The registered stacks of a heap.  Any thread that runs; collectors while the world is stopped.
class CoroutineStacks {
 public:
  void Add(CoroutineStack* stack);
  void Remove(CoroutineStack* stack);
  // The stack that the address lies in; nullptr if there is none.
  CoroutineStack* Find(uintptr_t address);
  // For the threads of a forked child and for collectors.
  template <typename Visit>
  void ForEach(Visit visit) {
    const MutexHolder hold(mutex_);
    for (CoroutineStack* stack = first_; stack != nullptr; stack = stack->next) visit(*stack);
  }
  bool empty() {
    const MutexHolder hold(mutex_);
    return first_ == nullptr;
  }
  void ResetInForkedChild() { mutex_.ResetInForkedChild(); }

 private:
  Mutex mutex_;
  CoroutineStack* first_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
};

// A thread's own stack, and where on its stacks the thread stands.
struct ThreadStack {
  StackRange own;
  StackRange signal;  // the alternate signal stack, if the thread stands on it
  ScannedStack here;
  ScannedStack left;  // the own stack, while the thread runs on a registered one

  // Behind StandHere(here.point), by the thread itself.  Aborts with rule.stack on a stack that
  // nobody knows.
  void NoteStand(CoroutineStacks& coroutines);
  // Of the own stack, in use by the thread that stands; 0 on another stack.
  size_t SizeBytes() const {
    const uintptr_t at = here.point.stack_pointer;
    return at != 0 && own.Contains(at) ? own.high - at : 0;
  }
  // Visits the words of the thread's stacks, while it stands.
  void Scan(CoroutineStacks& coroutines, WordVisitor& visitor) const;
};

// The registered stacks on which no thread stands.  Behind ThreadStack::Scan() of all threads.
void ScanCoroutines(CoroutineStacks& coroutines, WordVisitor& visitor);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_THREAD_STACK_H_
