// Functions of managed programs, as a profile that charges by function sees them.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

// Says whether calls of managed functions are put onto the shadow stack from now on.  Caller holds
// the units' lock.
void WatchManagedCalls(bool watch) ALLOMON_REQUIRES(units_mutex);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_
