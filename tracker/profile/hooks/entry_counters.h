// The register by which a hooked function finds its thread's counters.
//
// On x86-64 Linux user code has a segment register to itself, %gs: the C library uses %fs.  A new
// thread inherits its creator's, until it attaches.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/function_counts.h"

namespace allomon::internal {

// Whether no other code uses the register, and this system lets us set it.
bool CanSetEntryCounters() ALLOMON_REQUIRES(units_mutex);

// Makes hooked functions count in `cells` on this thread.
void SetEntryCounters(FunctionCell* cells) ALLOMON_REQUIRES(units_mutex);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_
