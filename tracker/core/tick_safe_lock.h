// A lock that signal handlers take, too: the tick of a time profile, which interns a call stack, or
// a malloc in a handler of the host, which may enter its thread into the registry.
//
// A handler that waits for a lock which its own thread holds waits for ever.  So the thread is busy
// (CurrentThread().busy) from before it takes such a lock until it has let it go, and a handler
// that finds its thread busy keeps out of the tracker (inv.lock.tick in tracker/README.md).  Around
// a fork the thread need not be busy: the lock is then open for it.
#ifndef ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_
#define ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_

#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/core/busy_mark.h"

namespace allomon::internal {

// Take it by a TickSafeLockHolder, which makes the thread busy.
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

// Out of line: a holder is on no fast path.
class ALLOMON_SCOPED_LOCKABLE TickSafeLockHolder {
 public:
  explicit TickSafeLockHolder(TickSafeLock& lock) ALLOMON_ACQUIRE(lock);
  ~TickSafeLockHolder() ALLOMON_RELEASE();
  TickSafeLockHolder(const TickSafeLockHolder&) = delete;
  TickSafeLockHolder& operator=(const TickSafeLockHolder&) = delete;

 private:
  const BusyMark busy_;  // from before the lock is taken until it is let go
  TickSafeLock& lock_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_TICK_SAFE_LOCK_H_
