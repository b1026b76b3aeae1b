// Counts exactly how many words have stood trial in a stream of gaps, without a step in the fast
// path.  The words passed in a gap are the drawn number less the rest of the countdown.
//
// The thread that owns the stream writes it, in its slow paths.  Another thread may read at any
// time, and is wrong by at most one gap.
#ifndef ALLOMON_TRACKER_CORE_WORD_METER_H_
#define ALLOMON_TRACKER_CORE_WORD_METER_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/ids.h"
#include "tracker/sampling/active_set.h"

namespace allomon::internal {

// Number of sessions, that is recordings, that count words at once.  A thread's meter is in static
// TLS, of which a library that is loaded late gets little.
inline constexpr uint32_t kMostCountingSessions = 2;

// All zero at first.
class WordMeter {
 public:
  // Called when the countdown is set to `fresh` while `left` words of it remain.
  void Set(int64_t left, int64_t fresh) {
    const uint64_t drawn = drawn_.load(std::memory_order_relaxed);
    drawn_.store(drawn + static_cast<uint64_t>(fresh) - static_cast<uint64_t>(left),
                 std::memory_order_relaxed);
  }

  // Called when a block that stood trial will not exist: its words have not passed.
  void TakeBack(uint64_t words) {
    drawn_.store(drawn_.load(std::memory_order_relaxed) - words, std::memory_order_relaxed);
  }

  // Returns the words of this stream so far, if `left` remain of the countdown.
  uint64_t PassedAt(int64_t left) const {
    return drawn_.load(std::memory_order_relaxed) - static_cast<uint64_t>(left);
  }

  // Starts the count of sessions in this set that count words and are new, while `left` words
  // remain.
  void EnterSessions(const ActiveSet& active, int64_t left) {
    for (uint32_t i = 0; i < active.count; ++i) {
      if (active.items[i].counts_words) Enter(active.items[i].id, active, PassedAt(left));
    }
  }
  // Called in a child of fork, which counts its own words.
  void ForgetSessions() {
    for (Since& since : since_) since.session.store(0, std::memory_order_relaxed);
  }
  // Returns the words that have passed since the session began; 0 if the session is not known.
  uint64_t PassedSince(SessionId id, int64_t left) const {
    for (const Since& since : since_) {
      if (since.session.load(std::memory_order_relaxed) != id) continue;
      return PassedAt(left) - since.passed.load(std::memory_order_relaxed);
    }
    return 0;
  }
  // The same since the last call, which only the stream's own thread makes.
  uint64_t TakePassedSince(SessionId id, int64_t left) {
    for (Since& since : since_) {
      if (since.session.load(std::memory_order_relaxed) != id) continue;
      const uint64_t passed = PassedAt(left);
      const uint64_t before = since.passed.load(std::memory_order_relaxed);
      since.passed.store(passed, std::memory_order_relaxed);
      return passed - before;
    }
    return 0;
  }

 private:
  struct Since {
    std::atomic<SessionId> session;  // 0: none
    std::atomic<uint64_t> passed;
  };

  void Enter(SessionId id, const ActiveSet& active, uint64_t passed) {
    Since* free = nullptr;
    for (Since& since : since_) {
      const SessionId known = since.session.load(std::memory_order_relaxed);
      if (known == id) return;
      if (!IsIn(active, known)) free = &since;
    }
    if (free == nullptr) return;
    free->passed.store(passed, std::memory_order_relaxed);
    free->session.store(id, std::memory_order_relaxed);
  }
  static bool IsIn(const ActiveSet& active, SessionId id) {
    for (uint32_t i = 0; i < active.count; ++i) {
      if (active.items[i].id == id) return true;
    }
    return false;
  }

  std::atomic<uint64_t> drawn_{0};  // the words of all gaps
  Since since_[kMostCountingSessions] = {};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_WORD_METER_H_
