// The tracker's state of each thread.  See "Threads" in tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_THREAD_STATE_H_
#define ALLOMON_TRACKER_CORE_THREAD_STATE_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/tls.h"
#include "tracker/core/entry_table.h"
#include "tracker/core/ids.h"
#include "tracker/core/session_counters.h"
#include "tracker/core/word_meter.h"
#include "tracker/sampling/active_set.h"
#include "tracker/sampling/random.h"

namespace allomon::internal {

class ManagedSampler;
class Session;
struct LabelScope;

// Sessions that a thread can pin at once without counting: one for a callback, one for a call of
// ours in it, and twice that for a nested callback.
inline constexpr uint32_t kOwnPins = 4;

// Plain data in static TLS: valid from the thread's first instruction to its last, and all zero at
// first.  Touched by its own thread only, except where stated.
struct ThreadState {
  std::atomic<uint64_t> epoch_seen{0};  // read by the registry
  ActiveSet active;                     // the thread's copy for that epoch
  RandomBits bits;
  bool registered = false;
  bool busy = false;         // inside the tracker: allocations and signal handlers stay out
  bool ends_unseen = false;  // a block ends now that was freed before, where nobody saw it
  bool in_callback = false;  // sampling is suspended
  std::atomic<EntryId> postponed{0};          // deallocs noticed inside a callback, newest first
  EntryId postponed_due = 0;                  // those about to run, oldest first
  std::atomic<int64_t>* countdown = nullptr;  // its countdown_words, while in the registry
  WordMeter meter;                            // of malloc's words
  // The rest of the countdown when a wake-up or an epoch's end set it to 0.
  std::atomic<int64_t> left_when_woken{0};
  // The countdown as it was when a callback began; it stands still meanwhile.
  std::atomic<int64_t> suspended_countdown{0};
  const ManagedSampler* sampler = nullptr;  // of the managed block that is being reported
  LabelScope* label_scope = nullptr;        // the innermost (label_scope.h)
  ThreadState* previous = nullptr;          // registry's list, under its lock
  ThreadState* next = nullptr;

  // See pinned_session.h.  Read by threads that retire a session.
  std::atomic<Session*> pins[kOwnPins] = {};
  uint32_t pins_used = 0;
  uint32_t counted_pins = 0;

  EntryCache free_entries;  // empty but while in the registry

  // By PlaceOfSession(); read by the registry.
  ThreadCounters counters[kMaxSessions];

  bool in_registry() const { return countdown != nullptr; }
  bool HasPostponed() const {
    return postponed_due != 0 || postponed.load(std::memory_order_relaxed) != 0;
  }
  bool HasFreePin() const { return in_registry() && pins_used < kOwnPins; }
  bool HasPinned(const Session& session) const;
};

extern __thread ThreadState current_thread __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));
inline ThreadState& CurrentThread() { return current_thread; }

inline bool ThreadState::HasPinned(const Session& session) const {
  for (const std::atomic<Session*>& pin : pins) {
    if (pin.load(std::memory_order_acquire) == &session) return true;
  }
  return false;
}

// Returns the words of malloc that have stood trial for a session that samples, on the thread with
// this countdown.  Any thread may call it while the other thread runs; the value for another thread
// is wrong by one gap at most.
inline uint64_t PassedWords(const ThreadState& thread, const std::atomic<int64_t>& countdown,
                            SessionId session) {
  int64_t left = countdown.load(std::memory_order_relaxed);
  if (left > kNeverWords / 2) left = thread.suspended_countdown.load(std::memory_order_relaxed);
  if (left == 0) left = thread.left_when_woken.load(std::memory_order_relaxed);
  return thread.meter.PassedSince(session, left);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_THREAD_STATE_H_
