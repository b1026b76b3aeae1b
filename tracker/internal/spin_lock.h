// A lock for the rare paths of the tracker: it never allocates, needs no
// initialisation, and can be taken by pthread_atfork handlers.
//
// Not recursive, not to be taken in a signal handler.  Holders never allocate, never
// call back into user code and never block, so a waiter yields for microseconds.
//
// The exception is fork: atfork handlers of the host run between LockAroundFork() and
// UnlockAfterFork(), and may allocate, start and stop.  For the forking thread, which has
// the lock to itself, lock() and unlock() then do nothing.
#ifndef ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_
#define ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>

namespace allomon::internal {

class SpinLock {
 public:
  void lock() {
    if (HeldForForkByMe()) return;
    // Acquire pairs with the release in unlock().
    for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > 100) WaitSlow(spins);
    }
  }
  void unlock() {
    if (!HeldForForkByMe()) locked_.store(false, std::memory_order_release);
  }

  void LockAroundFork() {
    lock();
    forking_thread_.store(pthread_self(), std::memory_order_relaxed);
  }
  // In the parent and in the child: the surviving thread keeps its pthread_self().
  void UnlockAfterFork() {
    forking_thread_.store(0, std::memory_order_relaxed);
    unlock();
  }

 private:
  // A thread sees its own stores in order, and no other thread's value equals its id.
  bool HeldForForkByMe() const {
    const pthread_t forking = forking_thread_.load(std::memory_order_relaxed);
    return __builtin_expect(forking != 0, 0) && forking == pthread_self();
  }

  // Yielding alone would starve a holder of lower real-time priority.
  static void WaitSlow(int spins) {
    constexpr timespec kPause = {0, 50000};
    if (spins < 1000) {
      sched_yield();
    } else {
      nanosleep(&kPause, nullptr);
    }
  }

  std::atomic<bool> locked_{false};
  std::atomic<pthread_t> forking_thread_{0};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_SPIN_LOCK_H_
