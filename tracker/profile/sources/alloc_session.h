// Charges the sampler's samples to units of data, by a session that counts and follows no block.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_

#include <cstdint>

#include "tracker/core/control.h"

namespace allomon::internal {

// The frames captured for a program without functions of its own.  They are deep enough to find a
// function with a symbol above the static functions of a stripped library, and cheap enough for
// every sample.  For stack times they are as many as an unwinder's default.
inline constexpr uint32_t kAttributionFrames = 32;
inline constexpr uint32_t kStackFrames = 128;

struct AllocSessionOptions {
  double rate = 1;
  uint64_t seed = 0;
  uint32_t frames = 0;       // 0: only functions are charged
  bool only_malloc = false;  // blocks of managed heaps are charged by other means
};

// Fails like StartSession.
StartResult StartAllocSession(const AllocSessionOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_ALLOC_SESSION_H_
