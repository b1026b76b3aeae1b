// A lock for the rare paths of the tracker: it never allocates, needs no initialisation, and can be
// taken by pthread_atfork handlers.
//
// Not recursive.  A holder never allocates, never calls user code and never blocks, so a waiter
// yields for microseconds.  Waiting is no cancellation point: a cancelled thread would end in
// malloc, with the host's locks held.  A lock that a signal handler may take is a TickSafeLock
// (core/).
//
// The exception is fork: atfork handlers of the host run between LockAroundFork() and
// UnlockAfterFork(), and may allocate, start and stop.  For the forking thread, which has the lock
// to itself, lock() and unlock() then do nothing.
#ifndef ALLOMON_TRACKER_BASE_SPIN_LOCK_H_
#define ALLOMON_TRACKER_BASE_SPIN_LOCK_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/base/waiting.h"

namespace allomon::internal {

class ALLOMON_LOCKABLE SpinLock {
 public:
  void lock() ALLOMON_ACQUIRE() {
    ALLOMON_DCHECK("inv.lock.owner", !IsHeldByMe());
    pthread_t found = kFree;
    // Acquire pairs with the release in unlock().
    if (__builtin_expect(!TryChange(&found, kHeld), 0)) {
      if (found == pthread_self()) return;
      WaitSlow(kHeld);
    }
    NoteOwner(pthread_self());
  }
  void unlock() ALLOMON_RELEASE() {
    const pthread_t found = word_.load(std::memory_order_relaxed);
    ALLOMON_DCHECK("inv.lock.owner", found == kHeld ? IsHeldByMe() : found == pthread_self());
    if (__builtin_expect(found != kHeld, 0)) return;
    NoteOwner(0);
    word_.store(kFree, std::memory_order_release);
  }

  // Whether the calling thread holds the lock.  Only for ALLOMON_DCHECK: a release build does not
  // know the owner and returns true.
  bool IsHeldForCheck() const {
    return !kDebugChecks || IsHeldByMe() || word_.load(std::memory_order_relaxed) == pthread_self();
  }

  // One instruction takes the lock and opens it for this thread.  A signal handler that interrupts
  // the forking thread therefore finds the lock free, or open for itself, and never waits for its
  // own thread.
  void LockAroundFork() ALLOMON_ACQUIRE() {
    ALLOMON_DCHECK("inv.lock.owner", !IsHeldByMe());
    pthread_t found = kFree;
    if (!TryChange(&found, pthread_self()) && found != pthread_self()) WaitSlow(pthread_self());
  }
  // Called in the parent and in the child: the surviving thread keeps its pthread_self().
  void UnlockAfterFork() ALLOMON_RELEASE() {
    // A fork inside an atfork handler has released the lock already.
    if (word_.load(std::memory_order_relaxed) != pthread_self()) return;
    word_.store(kFree, std::memory_order_release);
  }

 private:
  // Values of word_. Any other value is the pthread_self() of the forking thread: the address of
  // its control block, and so neither of these two.
  static constexpr pthread_t kFree = 0;
  static constexpr pthread_t kHeld = 1;

  bool TryChange(pthread_t* found, pthread_t to) {
    return word_.compare_exchange_strong(*found, to, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  __attribute__((noinline)) void WaitSlow(pthread_t to) {
    pthread_t found = kFree;
    for (uint32_t look = 0; !TryChange(&found, to); found = kFree, ++look) PauseBetweenLooks(look);
  }

  // Only debug builds know the owner.
  void NoteOwner(pthread_t owner) {
    if constexpr (kDebugChecks) owner_.store(owner, std::memory_order_relaxed);
  }
  bool IsHeldByMe() const { return owner_.load(std::memory_order_relaxed) == pthread_self(); }

  std::atomic<pthread_t> word_{kFree};
  std::atomic<pthread_t> owner_{0};
};

// Holds a lock for the length of a scope.  Replaces std::lock_guard, which clang's analysis does
// not understand.
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
