// What the tracker knows about each thread, and the registry of all of them.
// See "Threads" in tracker/README.md.
#ifndef ALLOMON_TRACKER_INTERNAL_THREAD_STATE_H_
#define ALLOMON_TRACKER_INTERNAL_THREAD_STATE_H_

#include <atomic>
#include <cstdint>

#include "tracker/internal/countdown.h"
#include "tracker/internal/entry_table.h"
#include "tracker/internal/random.h"
#include "tracker/internal/session.h"
#include "tracker/internal/session_counters.h"
#include "tracker/internal/spin_lock.h"

namespace allomon::internal {

inline constexpr uint32_t kMaxSamplingSessions = 8;

// The sessions that sample, and the one stream of gaps that serves them all: a word is
// hit with the probability that at least one session's own trial would hit it.
struct ActiveSet {
  uint64_t epoch = 0;  // changes with every start and stop
  uint64_t seed = 0;
  double rate = 0;       // 1 - prod(1 - rate_i)
  double gap_scale = 0;  // of `rate`
  uint32_t count = 0;
  uint32_t callstack_size = 0;  // the largest that any session wants
  bool follows_blocks = false;  // whether any session does
  bool has_callbacks = false;   // whether any session is not a tally
  struct Item {
    SessionId id;
    bool is_tally;
    Rate law;
  } items[kMaxSamplingSessions] = {};
};

// Sessions that a thread can pin at once without counting: a callback, what it calls of
// ours, and their like once more.
inline constexpr uint32_t kPinSlots = 4;

// Plain data in static TLS: valid from the thread's first instruction to its last, and
// all zero at first.  Touched by its own thread only, except where stated.
struct ThreadState {
  std::atomic<uint64_t> epoch_seen{0};  // read by the registry
  ActiveSet active;                     // the thread's copy for that epoch
  RandomBits bits;
  bool registered = false;
  bool busy = false;         // inside the tracker: allocations and signal handlers stay out
  bool in_callback = false;  // sampling is suspended
  std::atomic<EntryId> postponed{0};          // deallocs noticed inside a callback, newest first
  EntryId postponed_due = 0;                  // those of them whose turn it is, oldest first
  std::atomic<int64_t>* countdown = nullptr;  // its countdown_words, while in the registry
  ThreadState* previous = nullptr;            // registry's list, under its lock
  ThreadState* next = nullptr;

  // See pinned_session.h.  The slots are read by who retires a session.
  std::atomic<Session*> pins[kPinSlots] = {};
  uint32_t pins_used = 0;
  uint32_t counted_pins = 0;

  EntryCache free_entries;  // empty but while in the registry

  // By Session::PlaceOf(); read by the registry.
  ThreadCounters counters[Session::kMaxSessions];

  bool in_registry() const { return countdown != nullptr; }
  bool HasPostponed() const {
    return postponed_due != 0 || postponed.load(std::memory_order_relaxed) != 0;
  }
  bool HasFreePinSlot() const { return in_registry() && pins_used < kPinSlots; }
  bool HasPinned(const Session& session) const;
  void CountReport(Session& session, uint64_t n_samples, bool cut);
};

extern __thread ThreadState current_thread __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));
inline ThreadState& CurrentThread() { return current_thread; }

// Puts the thread into the registry, so that `start` reaches it.  Its first slow path
// calls it; it may allocate (pthread_setspecific), so `busy` must be set.
void RegisterThreadSlow(ThreadState& thread);

// Called when a thread has left the registry at its end, if set.
extern std::atomic<void (*)()> thread_exit_hook;

// Copies the active set of the current epoch and reseeds the thread's generator.
void RefreshThreadSlow(ThreadState& thread);

// Whether the registry can make all threads execute a barrier (membarrier), so that they
// need none of their own.
extern std::atomic<bool> has_asymmetric_barrier;

// Orders this thread's stores before its later loads, as seen by who executes a
// HeavyBarrier() between a store and a load of its own.
inline void LightBarrier() {
  if (has_asymmetric_barrier.load(std::memory_order_relaxed)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// The other side of LightBarrier(): a full barrier here and on every thread.  Cost: a
// system call, microseconds.
void HeavyBarrier();

// The state that all threads share.  Its lock is never held while user code runs.
class Registry {
 public:
  static Registry& Get() { return the_registry; }

  SpinLock& lock() { return lock_; }
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  // Sets what is sampled from now on, and wakes every thread.  Caller holds the lock.
  void PublishLocked(const ActiveSet& set);
  const ActiveSet& active_locked() const { return active_; }

  void AddLocked(ThreadState& thread);
  void RemoveLocked(ThreadState& thread);
  uint64_t NextStreamLocked() { return next_stream_++; }
  void RestartStreamsLocked() { next_stream_ = 0; }

  // Whether the condition holds for any thread.
  template <typename Condition>
  bool AnyThreadLocked(Condition holds) const {
    const ThreadState* thread = threads_;
    while (thread != nullptr && !holds(*thread)) thread = thread->next;
    return thread != nullptr;
  }

  // Everything that was counted for a session which the caller has pinned.
  SessionTotals TotalsOf(Session& session);

  // In a forked child only the calling thread exists.
  void KeepOnlyLocked(ThreadState& survivor);

  // Children must not sample at the same words as their parent, nor as each other: each
  // gets streams of its own, the n-th child the same in every run.
  void CountForkLocked() { ++forks_; }
  void DivergeFromParentLocked(ThreadState& survivor);

 private:
  static Registry the_registry;

  void WakeThreadsLocked();
  bool WakeOnceLocked();
  void FoldCountersLocked(ThreadState& thread);

  SpinLock lock_;
  std::atomic<uint64_t> epoch_{1};  // 0 is "never seen"
  ActiveSet active_;
  uint64_t next_stream_ = 0;
  uint64_t forks_ = 0;
  ThreadState* threads_ = nullptr;
};

// Stores a countdown without losing a wake-up: if an epoch began meanwhile, the next
// allocation must take the slow path.
__attribute__((always_inline)) inline void SetCountdown(ThreadState& thread, int64_t words) {
  countdown_words.store(words, std::memory_order_relaxed);
  // Pairs with the barrier on all threads in WakeThreadsLocked(): either this thread sees
  // the new epoch here, or the waker sees the number just stored and overwrites it.
  LightBarrier();
  const uint64_t seen = thread.epoch_seen.load(std::memory_order_relaxed);
  if (__builtin_expect(Registry::Get().epoch() != seen, 0)) {
    countdown_words.store(0, std::memory_order_relaxed);
  }
}

inline bool ThreadState::HasPinned(const Session& session) const {
  for (const std::atomic<Session*>& pin : pins) {
    if (pin.load(std::memory_order_acquire) == &session) return true;
  }
  return false;
}

inline void ThreadState::CountReport(Session& session, uint64_t n_samples, bool cut) {
  if (__builtin_expect(in_registry(), 1)) {
    counters[Session::PlaceOf(session.id())].AddReport(session.id(), n_samples, cut);
  } else {
    session.counters().AddReport(n_samples, cut);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_THREAD_STATE_H_
