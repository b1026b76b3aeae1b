// How many words have stood trial in a stream of gaps: exactly, and without a step in the fast
// path.  A gap's words are what was drawn less what is left of it.
//
// Written by the thread that owns the stream, in its slow paths.  Another thread may read at any
// time, and is wrong by at most one gap.
#ifndef ALLOMON_TRACKER_CORE_WORD_METER_H_
#define ALLOMON_TRACKER_CORE_WORD_METER_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/session_id.h"
#include "tracker/sampling/active_set.h"

namespace allomon::internal {

// All zero at first.
class WordMeter {
 public:
  // The countdown, of which `left` words are left, is set to `fresh`.
  void Set(int64_t left, int64_t fresh) {
    passed_.store(PassedAt(left), std::memory_order_relaxed);
    set_.store(fresh, std::memory_order_relaxed);
  }

  // The words of this stream so far, where `left` are left of the countdown.
  uint64_t PassedAt(int64_t left) const {
    const uint64_t set = static_cast<uint64_t>(set_.load(std::memory_order_relaxed));
    return passed_.load(std::memory_order_relaxed) + set - static_cast<uint64_t>(left);
  }
  bool IsSetTo(int64_t countdown) const {
    return set_.load(std::memory_order_relaxed) == countdown;
  }
  // The same as PassedAt(), as of the last Set().
  uint64_t passed() const { return passed_.load(std::memory_order_relaxed); }

  // Behind a Set(): the sessions of this set that were not known before begin here.
  void EnterSessions(const ActiveSet& active) {
    for (uint32_t i = 0; i < active.count; ++i) Enter(active.items[i].id);
  }
  // In a child of fork, which counts its own words.
  void ForgetSessions() {
    for (Since& since : since_) since.session.store(0, std::memory_order_relaxed);
  }
  // What had passed where the session began; all that passed last, if it is not known.
  uint64_t PassedAtStartOf(SessionId id) const {
    const Since& since = since_[PlaceOfSession(id)];
    return since.session.load(std::memory_order_relaxed) == id
               ? since.passed.load(std::memory_order_relaxed)
               : passed();
  }

 private:
  struct Since {
    std::atomic<SessionId> session;
    std::atomic<uint64_t> passed;
  };

  void Enter(SessionId id) {
    Since& since = since_[PlaceOfSession(id)];
    if (since.session.load(std::memory_order_relaxed) == id) return;
    since.passed.store(passed(), std::memory_order_relaxed);
    since.session.store(id, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> passed_{0};
  std::atomic<int64_t> set_{0};
  Since since_[kMaxSessions] = {};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_WORD_METER_H_
