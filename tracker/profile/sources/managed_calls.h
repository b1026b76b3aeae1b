// Managed functions in a profile that charges by function.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

// Sets whether calls of managed functions are put onto the shadow stack from now on.  The caller
// holds the units' lock.
void WatchManagedCalls(bool watch) ALLOMON_REQUIRES(units_mutex);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_MANAGED_CALLS_H_
