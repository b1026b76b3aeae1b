// Feeds ProfileData from the sampler: a session that counts and follows nothing.
#ifndef ALLOMON_TRACKER_PROFILE_ALLOC_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_ALLOC_SESSION_H_

#include <cstdint>

#include "tracker/internal/control.h"

namespace allomon {

// Fails like internal::StartSession.  Several may run at once, beside user trackers.
internal::StartResult StartAllocSession(double rate, uint64_t seed);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_ALLOC_SESSION_H_
