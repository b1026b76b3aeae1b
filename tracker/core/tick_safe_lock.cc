#include "tracker/core/tick_safe_lock.h"

#include <atomic>

#include "tracker/core/thread_state.h"

namespace allomon::internal {
namespace {

bool MakeBusy() {
  ThreadState& thread = CurrentThread();
  const bool was_busy = thread.busy;
  thread.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return was_busy;
}

}  // namespace

// The analysis of these four would have to know that lock_ is the lock.
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

TickSafeLockHolder::TickSafeLockHolder(TickSafeLock& lock) : lock_(lock), was_busy_(MakeBusy()) {
  lock_.lock();
}

TickSafeLockHolder::~TickSafeLockHolder() {
  lock_.unlock();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  CurrentThread().busy = was_busy_;
}

}  // namespace allomon::internal
