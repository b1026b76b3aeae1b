// Counts of a session's samples.  Each thread counts in memory that only it writes: adding to a
// shared word would be a locked instruction and move a cache line between processors.  A reader
// sums the threads' counts.
//
// The rules are inv.counters.own and inv.counters.place, in "Sessions" of tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_SESSION_COUNTERS_H_
#define ALLOMON_TRACKER_CORE_SESSION_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/ids.h"

namespace allomon::internal {

struct SessionTotals {
  uint64_t samples = 0;          // hits, over all reported blocks
  uint64_t reported_blocks = 0;  // blocks for which the alloc callback was called
  uint64_t cut_callstacks = 0;
  uint64_t dropped_blocks = 0;  // no room for the entry or the block
  uint64_t dropped_bytes = 0;
};

// The session's own counts, written by any thread: rare events, and the sums of threads that ended.
struct SessionCounters {
  std::atomic<uint64_t> samples{0};
  std::atomic<uint64_t> reported_blocks{0};
  std::atomic<uint64_t> cut_callstacks{0};
  std::atomic<uint64_t> dropped_blocks{0};
  std::atomic<uint64_t> dropped_bytes{0};

  void Reset();
  void AddReport(uint64_t n_samples, bool cut);
  SessionTotals Load() const;
};

// A thread's counts for one session.
struct ThreadCounters {
  std::atomic<SessionId> session{0};
  std::atomic<uint64_t> samples{0};
  std::atomic<uint64_t> reported_blocks{0};
  std::atomic<uint64_t> cut_callstacks{0};

  // Whether these counters are free, or belong to that session or a former one in the same place.
  bool MayCountFor(SessionId id) const {
    const SessionId former = session.load(std::memory_order_relaxed);
    return former == 0 || PlaceOfSession(former) == PlaceOfSession(id);
  }
  // Owner only.
  void AddReport(SessionId id, uint64_t n_samples, bool cut) {
    if (__builtin_expect(session.load(std::memory_order_relaxed) != id, 0)) BeginSlow(id);
    Add(samples, n_samples);
    Add(reported_blocks, 1);
    if (cut) Add(cut_callstacks, 1);
  }

  // Adds the counts for that session.
  void AddTo(SessionId id, SessionTotals* totals) const;
  // Adds the counts to the session's own: the thread ends, or was not copied by a fork.
  void FoldInto(SessionId id, SessionCounters* counters);

 private:
  static void Add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void BeginSlow(SessionId id);
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_COUNTERS_H_
