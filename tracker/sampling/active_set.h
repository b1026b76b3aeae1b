// The rates by which a thread samples: those of all sessions, as one stream of gaps.
#ifndef ALLOMON_TRACKER_SAMPLING_ACTIVE_SET_H_
#define ALLOMON_TRACKER_SAMPLING_ACTIVE_SET_H_

#include <cstdint>

#include "tracker/sampling/random.h"

namespace allomon::internal {

inline constexpr uint32_t kMaxSamplingSessions = 8;

// The sessions that sample, and the one stream of gaps that serves them all: a word is hit with the
// probability that at least one session's own trial would hit it.
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
    uint32_t id;  // a SessionId
    bool is_tally;
    bool counts_words;  // exactly, beside its samples
    Rate law;
  } items[kMaxSamplingSessions] = {};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SAMPLING_ACTIVE_SET_H_
