// A lock that signal handlers may take: the tick of a time profile, which interns a call stack, or
// a malloc in a handler of the host, which may register its thread.
//
// A handler that waits for a lock of its own thread would wait for ever.  So a thread is busy
// (CurrentThread().busy) from before it takes such a lock until after it releases it, and a handler
// that finds its thread busy stays out of the tracker (inv.lock.tick in tracker/README.md).  Around
// a fork the thread need not be busy: the lock is then open for it.
#ifndef ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_
#define ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_

#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/core/busy_mark.h"

namespace allomon::internal {

// Take it through a TickSafeLockHolder, which makes the thread busy.
class ALLOMON_LOCKABLE TickSafeLock {
 public:
  void lock() ALLOMON_ACQUIRE();
  void unlock() ALLOMON_RELEASE();

  void LockAroundFork() ALLOMON_ACQUIRE();
  void UnlockAfterFork() ALLOMON_RELEASE();
  bool IsHeldForCheck() const { return lock_.IsHeldForCheck(); }

 private:
  SpinLock lock_;
};

// Not inlined, since no fast path uses a holder.
class ALLOMON_SCOPED_LOCKABLE TickSafeLockHolder {
 public:
  explicit TickSafeLockHolder(TickSafeLock& lock) ALLOMON_ACQUIRE(lock);
  ~TickSafeLockHolder() ALLOMON_RELEASE();
  TickSafeLockHolder(const TickSafeLockHolder&) = delete;
  TickSafeLockHolder& operator=(const TickSafeLockHolder&) = delete;

 private:
  const BusyMark busy_;  // from before the lock is taken until after it is released
  TickSafeLock& lock_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_
