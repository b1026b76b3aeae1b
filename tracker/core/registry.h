// The list of all threads that sample, and the set of sessions that sample.  See "Threads" in
// tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_REGISTRY_H_
#define ALLOMON_TRACKER_CORE_REGISTRY_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/barrier.h"
#include "tracker/core/session_counters.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/tick_safe_lock.h"
#include "tracker/sampling/active_set.h"
#include "tracker/sampling/countdown.h"

namespace allomon::internal {

class Session;

// The allocation limit of one mutator of a managed heap.  Every start and stop sets it to 0, so
// that the mutator takes its slow path.  It is in a list of the registry's, under its lock.
struct WakeLimit {
  std::atomic<uintptr_t>* words = nullptr;  // null: not in the list
  WakeLimit* previous = nullptr;
  WakeLimit* next = nullptr;
};

// The state that all threads share.  Its lock is never held while user code runs.
class Registry {
 public:
  static Registry& Get() { return the_registry; }

  TickSafeLock& lock() ALLOMON_RETURNS_LOCK(lock_) { return lock_; }
  // The sessions of an epoch are read under the lock.  The fences of PublishLocked() and of
  // SetCountdown() order the epoch with the countdowns.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  // Sets the sessions that sample from now on, and wakes every thread.  Callers hold the lock.
  void PublishLocked(const ActiveSet& set) ALLOMON_REQUIRES(lock_);
  const ActiveSet& active_locked() const ALLOMON_REQUIRES(lock_) {
    CheckHeld();
    return active_;
  }

  void AddLocked(ThreadState& thread) ALLOMON_REQUIRES(lock_);
  void RemoveLocked(ThreadState& thread) ALLOMON_REQUIRES(lock_);
  void AddLimitLocked(WakeLimit& limit) ALLOMON_REQUIRES(lock_);
  void RemoveLimitLocked(WakeLimit& limit) ALLOMON_REQUIRES(lock_);
  uint64_t NextStreamLocked() ALLOMON_REQUIRES(lock_) {
    CheckHeld();
    return next_stream_++;
  }
  void RestartStreamsLocked() ALLOMON_REQUIRES(lock_) {
    CheckHeld();
    next_stream_ = 0;
  }

  // Whether the condition holds for any thread.
  template <typename Condition>
  bool AnyThreadLocked(Condition holds) const ALLOMON_REQUIRES(lock_) {
    CheckHeld();
    const ThreadState* thread = threads_;
    while (thread != nullptr && !holds(*thread)) thread = thread->next;
    return thread != nullptr;
  }

  // Returns the sums of all counts for a session that the caller has pinned.
  SessionTotals TotalsOf(Session& session) ALLOMON_EXCLUDES(lock_);

  // Removes all other threads: in a forked child only the calling thread exists.
  void KeepOnlyLocked(ThreadState& survivor) ALLOMON_REQUIRES(lock_);

  // Children must not sample at the same words as their parent, nor as each other: each child
  // gets streams of its own, of malloc and of managed heaps, and the n-th child the same ones in
  // every run.
  void CountForkLocked() ALLOMON_REQUIRES(lock_) {
    CheckHeld();
    ++forks_;
  }
  // Returns a number that no other process of the tree of forks has.
  uint64_t DivergeFromParentLocked(ThreadState& survivor) ALLOMON_REQUIRES(lock_);

 private:
  static Registry the_registry;

  void CheckHeld() const { ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck()); }
  void LowerLimitsLocked() ALLOMON_REQUIRES(lock_);
  void WakeThreadsLocked() ALLOMON_REQUIRES(lock_);
  bool WakeOnceLocked() ALLOMON_REQUIRES(lock_);
  void FoldCountersLocked(ThreadState& thread) ALLOMON_REQUIRES(lock_);

  TickSafeLock lock_;
  std::atomic<uint64_t> epoch_{1};  // 0 is "never seen"
  ActiveSet active_ ALLOMON_GUARDED_BY(lock_);
  uint64_t next_stream_ ALLOMON_GUARDED_BY(lock_) = 0;
  uint64_t forks_ ALLOMON_GUARDED_BY(lock_) = 0;
  ThreadState* threads_ ALLOMON_GUARDED_BY(lock_) = nullptr;
  WakeLimit* limits_ ALLOMON_GUARDED_BY(lock_) = nullptr;
};

// Stores a countdown without losing a wake-up: if an epoch began meanwhile, the next allocation
// must take the slow path.
__attribute__((always_inline)) inline void SetCountdown(ThreadState& thread, int64_t words) {
  ALLOMON_DCHECK("inv.callback.countdown", !thread.in_callback);
  countdown_words.store(words, std::memory_order_relaxed);
  // Pairs with the barrier on all threads in WakeThreadsLocked(): either this thread sees the new
  // epoch here, or the waker sees the number just stored and overwrites it.
  LightBarrier();
  const uint64_t seen = thread.epoch_seen.load(std::memory_order_relaxed);
  if (__builtin_expect(Registry::Get().epoch() != seen, 0)) {
    if (words != 0) thread.left_when_woken.store(words, std::memory_order_relaxed);
    countdown_words.store(0, std::memory_order_relaxed);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_REGISTRY_H_
