// Numbers of sessions, of stacks and of sets of labels.
#ifndef ALLOMON_TRACKER_CORE_IDS_H_
#define ALLOMON_TRACKER_CORE_IDS_H_

#include <cstdint>

namespace allomon::internal {

// ---- Ids of sessions.

using SessionId = uint32_t;  // never 0; unique for the life of the process

// The maximum number of sessions at once (sampling, stopped, or still in a callback).
inline constexpr uint32_t kMaxSessions = 16;

// An id determines the place of its session, so that look-up is arithmetic.  Ids that would fall on
// an occupied place are skipped.
inline uint32_t PlaceOfSession(SessionId id) { return id % kMaxSessions; }

// ---- Ids of interned call stacks.

// Dense: ids count from 1 in order of first appearance. 0 is the empty stack, and also stands for a
// stack for which own memory had no room.
using StackId = uint32_t;

// ---- Ids of interned sets of labels.

// Dense: ids count from 1 in order of first appearance. 0 is the empty set.
using LabelSetId = uint32_t;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_IDS_H_
