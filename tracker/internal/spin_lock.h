// A lock for the rare paths of the tracker: it never allocates, needs no
// initialisation, and can be taken by pthread_atfork handlers.
//
// Not recursive, not to be taken in a signal handler.  Holders never allocate, never
// call back into user code and never block, so a waiter yields for microseconds.
#ifndef ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_
#define ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>

namespace allomon::internal {

class SpinLock {
 public:
  void lock() {
    // Acquire pairs with the release in unlock().
    for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > 100) sched_yield();
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_
