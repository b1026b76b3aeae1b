// How sessions are named.
#ifndef ALLOMON_TRACKER_CORE_SESSION_ID_H_
#define ALLOMON_TRACKER_CORE_SESSION_ID_H_

#include <cstdint>

namespace allomon::internal {

using SessionId = uint32_t;  // never 0; unique for the life of the process

// At most so many sessions exist at once (sampling, stopped, or still in a callback).
inline constexpr uint32_t kMaxSessions = 16;

// An id says where its session is, so that looking a session up is arithmetic.  Ids that would fall
// on an occupied place are passed over.
inline uint32_t PlaceOfSession(SessionId id) { return id % kMaxSessions; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SESSION_ID_H_
