// Trackers of a program that links tracker.h but no heap that reports, in a process where
// liballomon.so is preloaded: the library's C functions take the program's client.
//
// Blocks, stacks and values are those of the preloaded library.  Call stacks are interned there, in
// memory of the same process, so a Callstack can view them like the program's own.
//
// The functions return statuses of allomon/status.h.  Thread rule and failures are those of
// tracker.h.
#ifndef ALLOMON_TRACKER_PRELOADED_H_
#define ALLOMON_TRACKER_PRELOADED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "allomon/recording.h"
#include "allomon/trackers.h"
#include "tracker/core/live_sums.h"
#include "tracker/core/session.h"
#include "tracker/core/session_client.h"

namespace allomon::internal::preloaded {

// Whether trackers run in the preloaded library: no heap of this program takes malloc's or managed
// blocks, and a preloaded library samples.  The result never changes while the program runs.  Cost:
// two calls.
bool IsUsed();

// Marks ids of the preloaded library.  The program's own ids never get that high, but an invalid id
// may.
inline constexpr uint32_t kIdBit = uint32_t{1} << 31;
inline bool HasTracker(uint32_t id) { return (id & kIdBit) != 0 && IsUsed(); }

// A recording has the id that the library returned.
inline bool HasRecording(uint32_t id) { return HasTracker(id); }

// Takes the client over, but only on success.
allomon_status Start(const Session::Config& config, std::unique_ptr<SessionClient>& client,
                     uint32_t* id);

// Ids are those that Start() returned; 0 is the plain tracker.
allomon_status Stop(uint32_t id, int32_t mode);
allomon_status Discard(uint32_t id);
allomon_status Drain(uint32_t id);
allomon_status ReadCounts(uint32_t id, allomon_tracker_counts* counts);

// Most bytes first; empty for a tracker that is gone.
std::vector<LiveStack> Snapshot(uint32_t id);
std::vector<LiveLabels> SnapshotByLabels(uint32_t id);
std::vector<LiveTypeStack> SnapshotByTypes(uint32_t id);  // malloc's blocks have no type

bool IsSampling();

// Reports bytes of the program's own (custom_memory.h).  Returns the handle; 0 if they are not
// followed.
uint32_t ReportCustom(uint64_t size_bytes);
void ReleaseCustom(uint32_t handle);

}  // namespace allomon::internal::preloaded

#endif  // ALLOMON_TRACKER_PRELOADED_H_
