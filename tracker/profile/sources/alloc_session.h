// Feeds units of data from the sampler: a session that counts and follows nothing.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_

#include <cstdint>

#include "tracker/core/control.h"

namespace allomon::internal {

// Frames captured for a program without functions of its own: deep enough to find one with a symbol
// above the static ones of a stripped library, cheap enough for every sample; and as many as an
// unwinder's default for stack times.
inline constexpr uint32_t kAttributionFrames = 32;
inline constexpr uint32_t kStackFrames = 128;

struct AllocSessionOptions {
  double rate = 1;
  uint64_t seed = 0;
  uint32_t frames = 0;       // 0: functions only are charged
  bool only_malloc = false;  // blocks of managed heaps are charged otherwise
};

// Fails like StartSession.
StartResult StartAllocSession(const AllocSessionOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_
