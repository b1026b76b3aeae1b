// How many bytes a thread has allocated in a managed heap, as a clock that a profiler
// reads at the boundaries of functions: what it has gone on since the last boundary was
// allocated by the function that ran.  So each allocation is charged exactly, and no
// allocation pays for it.
//
// The clock is the heap's own bump pointer, as long as that only moves on.
#ifndef ALLOMON_TRACKER_ALLOCATION_CLOCK_H_
#define ALLOMON_TRACKER_ALLOCATION_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <new>

#include "tracker/base/spin_lock.h"

namespace allomon {

class AllocationClock;

namespace internal {

// Calls visit for each clock that runs, under the registry's lock: it must not take that.
void VisitAllocationClocks(void (*visit)(AllocationClock& clock));

}  // namespace internal

// One for each thread of a heap.  Start() and End() on that thread, or End() when it is gone;
// the others on any thread.
class AllocationClock {
 public:
  AllocationClock() = default;
  AllocationClock(const AllocationClock&) = delete;
  AllocationClock& operator=(const AllocationClock&) = delete;

  // *cursor is the next free byte; the owner moves it on as it allocates, and it is moved
  // in any other way by MoveTo() only.  A thread has one clock: of a second one, which is
  // of another heap, nothing is seen while the first runs.
  void Start(uintptr_t* cursor);
  // Settles.  Idempotent.
  void End();

  // The cursor goes elsewhere; nothing was allocated by that.  For collectors: the owner does
  // not allocate meanwhile, but may stand in native code that enters functions.
  void MoveTo(uintptr_t to);
  // The owner has allocated bytes that the cursor does not show: large objects.
  void Add(uint64_t bytes);
  // Bytes since the last Take().
  uint64_t Take();

  // In the child of a fork, for the clock of a thread that is not there.
  void Abandon() { new (&lock_) internal::SpinLock; }

  // Whom the profiler charges what it takes from another thread's clock.  Its own affair.
  std::atomic<void*> owner{nullptr};

 private:
  internal::SpinLock lock_;  // held for a few instructions, also while the registry's is
  bool runs_ = false;
  uintptr_t* cursor_ = nullptr;
  // *cursor_ - taken_ are the bytes to take, also when the cursor has gone elsewhere.
  uintptr_t taken_ ALLOMON_GUARDED_BY(lock_) = 0;
  AllocationClock* previous_ = nullptr;  // list of all, under the registry's lock
  AllocationClock* next_ = nullptr;

  friend void internal::VisitAllocationClocks(void (*visit)(AllocationClock& clock));
};

namespace internal {

// The calling thread's; null without one.
AllocationClock* ThreadAllocationClock();

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_TRACKER_ALLOCATION_CLOCK_H_
