// A session is one run of one tracker, from start to discard.  See "Sessions" in tracker/README.md.
//
// States: free -> sampling -> (stopped ->) discarded -> free.  A stopped session no longer samples
// but still follows its blocks; a discarded one calls nobody.
#ifndef ALLOMON_TRACKER_CORE_SESSION_H_
#define ALLOMON_TRACKER_CORE_SESSION_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/core/registry.h"
#include "tracker/core/session_client.h"
#include "tracker/core/session_counters.h"

namespace allomon::internal {

struct ThreadState;

enum class SessionStatus : uint8_t { kSampling, kStopped, kDiscarded };

// The owner of a session.  Ids of all kinds come from one sequence, so the id that a caller passes
// for a tracker may be that of a recording: see inv.session.kind.
enum class SessionKind : uint8_t {
  kNone,       // no session's
  kTracker,    // of tracker.h and of the C interface
  kRecording,  // its client is a Recorder
  kCounting,   // of the C interface's exact counts
  kProfile,    // of allocated or of live bytes
  kHeap,       // of a heap that samples for itself: the guard's
  kAttendant,  // of control/, which looks at its page or at the probes
  kProbes,     // of control/, which serves the probes
};

// A free place is kDiscarded.
constexpr bool MayBecome(SessionStatus from, SessionStatus to) {
  switch (from) {
    case SessionStatus::kDiscarded:
      return to == SessionStatus::kSampling;
    case SessionStatus::kSampling:
      return to == SessionStatus::kStopped;
    case SessionStatus::kStopped:
      return to == SessionStatus::kDiscarded;
  }
  return false;
}

class Session {
 public:
  struct Config {
    SessionKind kind = SessionKind::kNone;
    double rate = 0;
    uint64_t seed = 0;
    uint32_t callstack_size = 0;
    // False for a client that only counts allocations: its blocks stay where malloc would put them
    // and have no entries.
    bool follows_blocks = true;
    // True for such a client of our own that wants neither hits nor addresses.  It gets blocks
    // through Tally(), and they do not count in the statistics.
    bool is_tally = false;
    // Every thread knows how many words have stood trial for the session (word_meter.h).  Works for
    // kMostCountingSessions at once; others get 0.
    bool counts_words = false;
    // Blocks of managed heaps are not sampled for this session.
    bool only_malloc = false;
    // False: start refuses if another exclusive session is sampling (memprof's rule).
    bool concurrent = false;
  };

  // Takes a free session, or returns nullptr.  Callers hold the registry lock.
  static Session* ClaimLocked(const Config& config, SessionClient* client)
      ALLOMON_REQUIRES(Registry::Get().lock());

  // Finds a session.  Callers keep it from being retired: they hold the registry lock, or are the
  // only thread that may retire it.
  static Session* Find(SessionId id) {
    return AtPlaceOf(id).IsOpenFor(id) ? &AtPlaceOf(id) : nullptr;
  }

  // The same, but nullptr for a session of another kind.
  static Session* Find(SessionId id, SessionKind kind) {
    Session* const session = Find(id);
    return session != nullptr && session->kind() == kind ? session : nullptr;
  }

  static Session& AtPlaceOf(SessionId id) { return places[PlaceOfSession(id)]; }

  // Retires a session whose values are all destroyed: it cannot be pinned any more, and the thread
  // that releases the last pin deletes the client.  Called once, by the thread that discarded it.
  void Retire();

  // See PinnedSession.  Acquire pairs with the release in ClaimLocked(): a thread that finds the
  // session open sees its configuration and its client.
  bool IsOpenFor(SessionId id) const { return open_id_.load(std::memory_order_acquire) == id; }
  bool retiring() const { return retiring_.load(std::memory_order_relaxed); }
  void PinCounted() { counted_pins_.fetch_add(1, std::memory_order_relaxed); }
  // Release pairs with the acquire in IsPinnedLocked().
  void UnpinCounted() { counted_pins_.fetch_sub(1, std::memory_order_release); }
  // Called by a thread that has released its pin and then found the session retiring.
  void FinishIfUnpinnedSlow();

  // Called in the child of a fork, before and after the registry forgets the threads that the child
  // does not have.  The pins of those threads are removed, and so are the sessions that only they
  // kept alive.
  static void AbandonPinsOfOthersLocked(const ThreadState& survivor)
      ALLOMON_REQUIRES(Registry::Get().lock());
  static void FinishAbandonedLocked() ALLOMON_REQUIRES(Registry::Get().lock());

  SessionId id() const { return id_; }
  // Nobody reads anything that was stored before the status: the barriers of MakeLive() and of
  // ForgetEntriesOf() order it with the entries.
  SessionStatus status() const { return status_.load(std::memory_order_acquire); }
  bool sampling() const { return status() == SessionStatus::kSampling; }
  SessionKind kind() const { return config_.kind; }
  const Config& config() const { return config_; }
  // Callers have pinned the session, or are the thread that discards it.
  SessionClient& client() const {
    ALLOMON_DCHECK("inv.session.pin", IsClientKeptForCheck());
    return *client_;
  }
  SessionCounters& counters() { return counters_; }

  void SetStoppedLocked() ALLOMON_REQUIRES(Registry::Get().lock()) {
    SetStatusLocked(SessionStatus::kStopped);
  }
  void SetDiscardedLocked() ALLOMON_REQUIRES(Registry::Get().lock()) {
    SetStatusLocked(SessionStatus::kDiscarded);
  }

 private:
  static Session places[kMaxSessions];

  void SetStatusLocked(SessionStatus to) ALLOMON_REQUIRES(Registry::Get().lock());
  bool IsPinnedLocked() const ALLOMON_REQUIRES(Registry::Get().lock());
  bool IsClientKeptForCheck() const;
  void SetFreeLocked() ALLOMON_REQUIRES(Registry::Get().lock());

  // Wider than a SessionId, so that it differs from every id that a user may pass.
  static constexpr uint64_t kClosed = UINT64_MAX;

  // The id under which the session can be pinned; kClosed while it is free, and from Retire() on.
  std::atomic<uint64_t> open_id_{kClosed};
  std::atomic<SessionStatus> status_{SessionStatus::kDiscarded};
  // True from Retire() until the client is deleted.
  std::atomic<bool> retiring_{false};
  // Number of pins held by threads that had no free pin of their own.
  std::atomic<uint32_t> counted_pins_{0};
  // Written by ClaimLocked(), read by threads that have the session open or pinned.
  SessionId id_ = 0;
  Config config_;
  SessionClient* client_ = nullptr;
  bool occupied_ ALLOMON_GUARDED_BY(Registry::Get().lock()) = false;
  // Retiring, and all pins are visible.
  bool settled_ ALLOMON_GUARDED_BY(Registry::Get().lock()) = false;
  // A thread that a fork did not copy was in a callback of the client, which must not be touched.
  bool client_is_abandoned_ ALLOMON_GUARDED_BY(Registry::Get().lock()) = false;
  SessionCounters counters_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_H_
