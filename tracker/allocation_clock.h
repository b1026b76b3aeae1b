// The number of bytes that a thread has allocated in a managed heap, as a clock that a profiler
// reads at the boundaries of functions.  The difference between two boundaries was allocated by the
// function that ran between them.  So each allocation is charged exactly, and no allocation costs
// anything extra.
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

// Calls visit for each running clock, under the registry's lock; `visit` must not take that lock.
void VisitAllocationClocks(void (*visit)(AllocationClock& clock));

}  // namespace internal

// One clock for each thread of a heap.  Start() and End() are called on that thread, or End() after
// it has ended; the others on any thread.
class AllocationClock {
 public:
  AllocationClock() = default;
  AllocationClock(const AllocationClock&) = delete;
  AllocationClock& operator=(const AllocationClock&) = delete;

  // *cursor is the next free byte.  The owner advances it as it allocates; only MoveTo() may change
  // it in any other way.  A thread has one clock: a second one, of another heap, counts nothing
  // while the first runs.
  void Start(uintptr_t* cursor);
  // Settles.  Idempotent.
  void End();

  // Moves the cursor without counting an allocation.  For collectors: the owner does not allocate
  // meanwhile, but may run native code that enters functions.
  void MoveTo(uintptr_t to);
  // The owner has allocated bytes that the cursor does not show: large objects.
  void Add(uint64_t bytes);
  // Bytes since the last Take().
  uint64_t Take();

  // Resets the lock in a child of fork, for the clock of a thread that does not exist there.
  void Abandon() { new (&lock_) internal::SpinLock; }

  // The profiler's own field: the account to charge for another thread's clock.
  std::atomic<void*> owner{nullptr};

 private:
  internal::SpinLock lock_;  // held for a few instructions, also while the registry's is
  bool runs_ = false;
  uintptr_t* cursor_ = nullptr;
  // *cursor_ - taken_ are the bytes to take, even after the cursor was moved.
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
