// The native stacks of a heap's threads, and which of them a thread is on.
#ifndef ALLOMON_RUNTIME_INTERNAL_STACKS_THREAD_STACK_H_
#define ALLOMON_RUNTIME_INTERNAL_STACKS_THREAD_STACK_H_

#include "runtime/internal/stacks/stack_scan.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// A stack that the program has registered: a coroutine's.
struct CoroutineStack {
  StackRange range;
  ScannedStack left;       // set by the last LeaveStack() on it
  bool was_left = false;   // otherwise the whole stack is scanned
  bool is_in_use = false;  // found by a scan: a thread stands on this stack
  CoroutineStack* next = nullptr;
};

// The registered stacks of a heap.  Used by any running thread, and by collectors while the world
// is stopped.
class CoroutineStacks {
 public:
  void Add(CoroutineStack* stack);
  void Remove(CoroutineStack* stack);
  // Returns the stack that contains the address; nullptr if no registered stack does.
  CoroutineStack* Find(uintptr_t address);
  // Called by collectors, and for the threads of a forked child.
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

// A thread's own stack, and the points on its stacks at which the thread stands.
struct ThreadStack {
  StackRange own;
  StackRange signal;  // the alternate signal stack if the thread stands on it
  ScannedStack here;
  ScannedStack left;  // state of the own stack while the thread runs on a registered one

  // Called by the thread itself after StandHere(here.point).  Aborts with rule.stack on an unknown
  // stack.
  void NoteStand(CoroutineStacks& coroutines);
  // Returns the bytes of the own stack in use by a standing thread; 0 on another stack.
  size_t SizeBytes() const {
    const uintptr_t at = here.point.stack_pointer;
    return at != 0 && own.Contains(at) ? own.high - at : 0;
  }
  // Visits the words of the thread's stacks.  The thread stands.
  void Scan(CoroutineStacks& coroutines, WordVisitor& visitor) const;
};

// Visits the registered stacks on which no thread stands.  Called after ThreadStack::Scan() of all
// threads.
void ScanCoroutines(CoroutineStacks& coroutines, WordVisitor& visitor);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACKS_THREAD_STACK_H_
