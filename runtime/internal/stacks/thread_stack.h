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
  // Found by a scan of a signal's stack: the lowest of its words that points here; 0 without one.
  uintptr_t interrupted_at = 0;
};

// The frame of a C++20 coroutine follows this head in memory.
struct CoroutineFrame {
  size_t size_bytes;
  class CoroutineStacks* owner;
  CoroutineFrame* previous;
  CoroutineFrame* next;
  const uintptr_t* begin() const { return reinterpret_cast<const uintptr_t*>(this + 1); }
  const uintptr_t* end() const { return begin() + size_bytes / sizeof(uintptr_t); }
};

// The registered stacks of a heap, and the frames of its coroutines.  Used by any thread, and by
// collectors while the world is stopped.
class CoroutineStacks {
 public:
  // Throws std::bad_alloc.  Aborts with rule.stack if it overlaps another one.  Cost: a binary
  // search, and a move of 8 bytes for each stack at a higher address.  So does Remove().
  void Add(CoroutineStack* stack);
  void Remove(const CoroutineStack* stack);
  void AddFrame(CoroutineFrame* frame);
  void RemoveFrame(CoroutineFrame* frame);
  // Returns the stack that contains the address; nullptr if no registered stack does.  Cost: a
  // binary search under the mutex.
  CoroutineStack* Find(uintptr_t address);

  // Collectors.
  template <typename Visit>
  void ForEach(Visit visit) {
    const MutexHolder hold(mutex_);
    for (CoroutineStack* stack : by_address_) visit(*stack);
  }
  template <typename Visit, typename VisitFrame>
  void ForEach(Visit visit, VisitFrame visit_frame) {
    const MutexHolder hold(mutex_);
    for (CoroutineStack* stack : by_address_) visit(*stack);
    for (CoroutineFrame* frame = first_frame_; frame != nullptr; frame = frame->next) {
      visit_frame(*frame);
    }
  }
  // Sets `interrupted_at` of the stacks to which words of [low, high) point.
  void FindInterrupted(uintptr_t low, uintptr_t high);

  bool empty() {
    const MutexHolder hold(mutex_);
    return by_address_.empty() && first_frame_ == nullptr;
  }
  void LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }  // held across functions
  void UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  using Place = Vector<CoroutineStack*>::iterator;
  // The first stack above the address, whole.
  Place AboveLocked(uintptr_t address) ALLOMON_REQUIRES(mutex_);
  CoroutineStack* FindLocked(uintptr_t address) ALLOMON_REQUIRES(mutex_);
  // Returns false without memory.
  bool TryAdd(CoroutineStack* stack);

  Mutex mutex_;
  // inv.stacks.apart: in ascending order, and no two overlap.
  Vector<CoroutineStack*> by_address_ ALLOMON_GUARDED_BY(mutex_);
  CoroutineFrame* first_frame_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
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

// Visits the frames, and the registered stacks on which no thread stands.  Called after
// ThreadStack::Scan() of all threads.
void ScanCoroutines(CoroutineStacks& coroutines, WordVisitor& visitor);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACKS_THREAD_STACK_H_
