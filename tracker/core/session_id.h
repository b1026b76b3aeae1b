// Ids of sessions.
#ifndef ALLOMON_TRACKER_CORE_SESSION_ID_H_
#define ALLOMON_TRACKER_CORE_SESSION_ID_H_

#include <cstdint>

namespace allomon::internal {

using SessionId = uint32_t;  // never 0; unique for the life of the process

// The maximum number of sessions at once (sampling, stopped, or still in a callback).
inline constexpr uint32_t kMaxSessions = 16;

// An id determines the place of its session, so that look-up is arithmetic.  Ids that would fall on
// an occupied place are skipped.
inline uint32_t PlaceOfSession(SessionId id) { return id % kMaxSessions; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_ID_H_
