// A session is one run of one tracker, from start to discard.  See "Sessions" in
// tracker/README.md.
//
// States: free -> sampling -> (stopped ->) discarded -> free.  A stopped session no
// longer samples but still follows its blocks; a discarded one calls nobody.
#ifndef ALLOMON_TRACKER_CORE_SESSION_H_
#define ALLOMON_TRACKER_CORE_SESSION_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/base/check.h"
#include "tracker/block_note.h"
#include "tracker/core/session_counters.h"
#include "tracker/core/value_slot.h"

namespace allomon::internal {

struct ThreadState;

// What a tally is told of a sampled block.
struct TallySample {
  uint64_t size_bytes = 0;
  AllocationSource source = AllocationSource::kMalloc;
  uint32_t stack = 0;  // a StackId
  uintptr_t sp = 0;    // stack pointer of the code that allocates
};

// A user's tracker with its types erased.  Calls that return bool say whether the block
// is to be followed further; if not, the slot holds no value.  None throws: the client
// catches and counts.
class SessionClient {
 public:
  virtual ~SessionClient() = default;
  virtual bool AllocMinor(const Allocation& allocation, ValueSlot* value) = 0;
  virtual bool AllocMajor(const Allocation& allocation, ValueSlot* value) = 0;
  virtual bool Promote(ValueSlot* value) = 0;       // minor value in, major value out
  virtual void DeallocMinor(ValueSlot* value) = 0;  // destroys the value
  virtual void DeallocMajor(ValueSlot* value) = 0;  // destroys the value
  // For drain: hands the value of a live block over; destroys it.
  virtual void SurviveMinor(const Allocation& allocation, ValueSlot* value) = 0;
  virtual void SurviveMajor(const Allocation& allocation, ValueSlot* value) = 0;
  virtual void DestroyMinor(ValueSlot* value) = 0;  // without telling the user
  virtual void DestroyMajor(ValueSlot* value) = 0;
  // Adds what the user says of a block that was just kept.  The value stays.
  virtual void Describe(ValueSlot*, BlockNote*) {}
  // In place of all of the above, if the session is a tally.  In the middle of an allocation that
  // nobody has prepared for user code: must not allocate, run code of others or end the thread.
  virtual void Tally(const TallySample&) {}

  uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

 protected:
  void CountException() { exceptions_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> exceptions_{0};
};

enum class SessionStatus : uint8_t { kSampling, kStopped, kDiscarded };

// A place that no session has is kDiscarded.
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
    double rate = 0;
    uint64_t seed = 0;
    uint32_t callstack_size = 0;
    // False for a client that only counts allocations: its blocks stay where malloc
    // would put them and have no entries.
    bool follows_blocks = true;
    // Such a client of our own, which wants neither hits nor addresses: it is told by Tally(), and
    // what it was told does not count in the statistics.
    bool is_tally = false;
    // Blocks of managed heaps are not sampled for it.
    bool only_malloc = false;
    // False: start refuses if another exclusive session is sampling (memprof's rule).
    bool concurrent = false;
  };

  // Takes a free session; nullptr when there is none.  Caller holds the registry lock.
  static Session* ClaimLocked(const Config& config, SessionClient* client);

  // For who keeps it from going away: by the registry lock, or because only he may retire it.
  static Session* Find(SessionId id) {
    return AtPlaceOf(id).IsOpenFor(id) ? &AtPlaceOf(id) : nullptr;
  }

  static Session& AtPlaceOf(SessionId id) { return places[PlaceOfSession(id)]; }

  // All values are destroyed: nobody can pin it any more, and whoever lets the last pin go
  // deletes the client.  Called once, by who discarded it.
  void Retire();

  // See PinnedSession.  Acquire pairs with the release in ClaimLocked(): who finds the
  // session open sees its configuration and its client.
  bool IsOpenFor(SessionId id) const { return open_id_.load(std::memory_order_acquire) == id; }
  bool retiring() const { return retiring_.load(std::memory_order_relaxed); }
  void PinCounted() { counted_pins_.fetch_add(1, std::memory_order_relaxed); }
  void UnpinCounted() { counted_pins_.fetch_sub(1, std::memory_order_release); }
  // For who has let go and then found the session retiring.
  void FinishIfUnpinnedSlow();

  // In the child of a fork, before and after the registry has forgotten the threads that it
  // does not have: their pins go, and so do the sessions that only those kept.
  static void AbandonPinsOfOthersLocked(const ThreadState& survivor);
  static void FinishAbandonedLocked();

  SessionId id() const { return id_; }
  SessionStatus status() const { return status_.load(std::memory_order_acquire); }
  bool sampling() const { return status() == SessionStatus::kSampling; }
  const Config& config() const { return config_; }
  // For who has pinned the session, or discards it.
  SessionClient& client() const {
    ALLOMON_DCHECK("inv.session.pin", IsClientKeptForCheck());
    return *client_;
  }
  SessionCounters& counters() { return counters_; }

  void SetStoppedLocked() { SetStatusLocked(SessionStatus::kStopped); }
  void SetDiscardedLocked() { SetStatusLocked(SessionStatus::kDiscarded); }

 private:
  static Session places[kMaxSessions];

  void SetStatusLocked(SessionStatus to);
  bool IsPinnedLocked() const;
  bool IsClientKeptForCheck() const;
  void SetFreeLocked();

  // Wider than a SessionId, so that it equals none, whatever id a user asks for.
  static constexpr uint64_t kClosed = UINT64_MAX;

  // The id under which it can be pinned; kClosed while free, and from Retire() on.
  std::atomic<uint64_t> open_id_{kClosed};
  std::atomic<SessionStatus> status_{SessionStatus::kDiscarded};
  // From Retire() until the client is deleted.
  std::atomic<bool> retiring_{false};
  // Pins of threads that have no slot for them.
  std::atomic<uint32_t> counted_pins_{0};
  // Written by ClaimLocked(), read by who has the session open or pinned.
  SessionId id_ = 0;
  Config config_;
  SessionClient* client_ = nullptr;
  // Under the registry lock.
  bool occupied_ = false;
  bool settled_ = false;  // retiring, and every pin is in sight
  // A thread that a fork left behind was in a callback: the client is not to be touched.
  bool client_is_abandoned_ = false;
  SessionCounters counters_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_H_
