// A lock for the rare paths of the tracker: it never allocates, needs no
// initialisation, and can be taken by pthread_atfork handlers.
//
// Not recursive, not to be taken in a signal handler.  Holders never allocate, never
// call back into user code and never block, so a waiter yields for microseconds.
//
// The exception is fork: atfork handlers of the host run between LockAroundFork() and
// UnlockAfterFork(), and may allocate, start and stop.  For the forking thread, which has
// the lock to itself, lock() and unlock() then do nothing.
#ifndef ALLOMON_TRACKER_BASE_SPIN_LOCK_H_
#define ALLOMON_TRACKER_BASE_SPIN_LOCK_H_

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <atomic>

#include "tracker/base/check.h"
#include "tracker/base/thread_annotations.h"

namespace allomon::internal {

class ALLOMON_LOCKABLE SpinLock {
 public:
  void lock() ALLOMON_ACQUIRE() {
    if (HeldForForkByMe()) return;
    ALLOMON_DCHECK("inv.lock.owner", !IsHeldByMe());
    // Acquire pairs with the release in unlock().
    for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins > 100) WaitSlow(spins);
    }
    NoteOwner(pthread_self());
  }
  void unlock() ALLOMON_RELEASE() {
    if (HeldForForkByMe()) return;
    ALLOMON_DCHECK("inv.lock.owner", IsHeldByMe());
    NoteOwner(0);
    locked_.store(false, std::memory_order_release);
  }

  // Whether the calling thread holds the lock, for ALLOMON_DCHECK alone: a release build does
  // not know the owner and answers true.
  bool IsHeldForCheck() const { return !kDebugChecks || IsHeldByMe() || HeldForForkByMe(); }

  void LockAroundFork() ALLOMON_ACQUIRE() {
    lock();
    forking_thread_.store(pthread_self(), std::memory_order_relaxed);
  }
  // In the parent and in the child: the surviving thread keeps its pthread_self().
  void UnlockAfterFork() ALLOMON_RELEASE() {
    forking_thread_.store(0, std::memory_order_relaxed);
    unlock();
  }

 private:
  // A thread sees its own stores in order, and no other thread's value equals its id.
  bool HeldForForkByMe() const {
    const pthread_t forking = forking_thread_.load(std::memory_order_relaxed);
    return __builtin_expect(forking != 0, 0) && forking == pthread_self();
  }

  // inv.lock.owner: the thread that lets a lock go is the one that took it, and nobody takes a
  // lock twice.  The owner is known to debug builds alone.
  void NoteOwner(pthread_t owner) {
    if constexpr (kDebugChecks) owner_.store(owner, std::memory_order_relaxed);
  }
  bool IsHeldByMe() const { return owner_.load(std::memory_order_relaxed) == pthread_self(); }

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
  std::atomic<pthread_t> owner_{0};
};

// Holds a lock for the length of a scope.  In place of std::lock_guard, which clang's analysis
// does not see through.
class ALLOMON_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& lock) ALLOMON_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~SpinLockHolder() ALLOMON_RELEASE() { lock_.unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_SPIN_LOCK_H_
