#include "tracker/core/tick_safe_lock.h"

#include "tracker/base/check.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

// The analysis does not know that lock_ is the lock that these four functions take and release.
void TickSafeLock::lock() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ALLOMON_DCHECK("inv.lock.tick", CurrentThread().busy);
  lock_.lock();
}
void TickSafeLock::unlock() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ALLOMON_DCHECK("inv.lock.tick", CurrentThread().busy);
  lock_.unlock();
}
void TickSafeLock::LockAroundFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { lock_.LockAroundFork(); }
void TickSafeLock::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { lock_.UnlockAfterFork(); }

TickSafeLockHolder::TickSafeLockHolder(TickSafeLock& lock) : lock_(lock) { lock_.lock(); }

TickSafeLockHolder::~TickSafeLockHolder() { lock_.unlock(); }

}  // namespace allomon::internal
