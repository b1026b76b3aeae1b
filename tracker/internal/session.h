// A session is one run of one tracker, from start to discard.  See "Sessions" in
// tracker/README.md.
//
// States: free -> sampling -> (stopped ->) discarded -> free.  A stopped session no
// longer samples but still follows its blocks; a discarded one calls nobody.
#ifndef ALLOMON_TRACKER_INTERNAL_SESSION_H_
#define ALLOMON_TRACKER_INTERNAL_SESSION_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"

namespace allomon::internal {

// Room for a user's value inside an entry; larger values are boxed by the client.
struct ValueSlot {
  alignas(8) unsigned char bytes[16];
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

  uint64_t exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

 protected:
  void CountException() { exceptions_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> exceptions_{0};
};

using SessionId = uint32_t;  // never 0; unique for the life of the process

struct SessionCounters {
  std::atomic<uint64_t> samples{0};          // hits, over all reported blocks
  std::atomic<uint64_t> reported_blocks{0};  // blocks whose alloc callback was called
  std::atomic<uint64_t> dropped_blocks{0};   // no room for the entry or the block
  std::atomic<uint64_t> dropped_bytes{0};
  std::atomic<uint64_t> cut_callstacks{0};
};

enum class SessionStatus : uint8_t { kSampling, kStopped, kDiscarded };

class Session {
 public:
  // At most so many sessions exist at once (sampling, stopped, or still in a callback).
  static constexpr uint32_t kMaxSessions = 16;

  struct Config {
    double rate = 0;
    uint64_t seed = 0;
    uint32_t callstack_size = 0;
    // False for a client that only counts allocations: its blocks stay where malloc
    // would put them and have no entries.
    bool follows_blocks = true;
    // False: start refuses if another exclusive session is sampling (memprof's rule).
    bool concurrent = false;
  };

  // Takes a free session; nullptr when there is none.  Caller holds the registry lock.
  static Session* ClaimLocked(const Config& config, SessionClient* client);
  static Session* Find(SessionId id);

  // Keeps the client alive for the length of a callback.  nullptr when the session is
  // gone: then all its values are destroyed too.  A pinned session may be discarded at
  // any time; who consumes a value looks at status() to know whether to tell the user.
  static Session* Pin(SessionId id);
  void Unpin();  // the last one after Discard() deletes the client

  SessionId id() const { return id_.load(std::memory_order_relaxed); }
  SessionStatus status() const { return status_.load(std::memory_order_acquire); }
  bool sampling() const { return status() == SessionStatus::kSampling; }
  const Config& config() const { return config_; }
  SessionClient& client() { return *client_; }
  SessionCounters& counters() { return counters_; }

  void SetStoppedLocked() { status_.store(SessionStatus::kStopped, std::memory_order_release); }
  void SetDiscardedLocked() { status_.store(SessionStatus::kDiscarded, std::memory_order_release); }

 private:
  std::atomic<SessionId> id_{0};
  std::atomic<SessionStatus> status_{SessionStatus::kDiscarded};
  // Callbacks that run, plus the reference that ClaimLocked() makes and that discard
  // gives up with Unpin() when all values are destroyed.  0 is "free": nobody may raise it from
  // there but ClaimLocked().
  std::atomic<uint32_t> users_{0};
  Config config_;
  SessionClient* client_ = nullptr;
  SessionCounters counters_;
};

// A session held for the length of a scope, also when a callback ends its thread and the
// stack unwinds.
class PinnedSession {
 public:
  explicit PinnedSession(SessionId id) : session_(Session::Pin(id)) {}
  ~PinnedSession() {
    if (session_ != nullptr) session_->Unpin();
  }
  PinnedSession(const PinnedSession&) = delete;
  PinnedSession& operator=(const PinnedSession&) = delete;

  explicit operator bool() const { return session_ != nullptr; }
  Session& operator*() const { return *session_; }
  Session* operator->() const { return session_; }

 private:
  Session* const session_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_SESSION_H_
