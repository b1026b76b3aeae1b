// The blocks that a program holds, for the profile of live blocks.  A session follows sampled
// blocks to their end and keeps no data of its own with them.
//
// Thread safe; not inside malloc, not in signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_LIVE_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_LIVE_SESSION_H_

#include <cstdint>
#include <vector>

#include "tracker/core/control.h"

namespace allomon::internal {

struct LiveHeap {
  // Estimates, by stack id; most are 0.  Element 0 is the sum of stacks that were new to the
  // process while the blocks were counted.
  std::vector<double> bytes_by_stack;
  double variance = 0;         // of their sum, in bytes squared
  uint64_t dropped_bytes = 0;  // of samples without room to follow them
};

// Fails like StartSession.
StartResult StartLiveSession(double rate, uint64_t seed, uint32_t frames);

// The program goes on during the call.  A block that lives throughout the call is counted once.
// Empty for a session that was discarded.  Cost: as Tracker::snapshot().
LiveHeap LiveHeapOf(SessionId id);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_LIVE_SESSION_H_
