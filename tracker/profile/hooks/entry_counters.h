// The register by which a hooked function finds its thread's counters.
//
// On x86-64 Linux one segment register, %gs, is left to user code: the C library uses %fs.  A new
// thread inherits the register of its creator until it attaches.  Other processors have no hooks:
// CanSetEntryCounters() is false there.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/function_counts.h"

namespace allomon::internal {

// Whether no other code uses the register, and the system allows user code to set it.
bool CanSetEntryCounters() ALLOMON_REQUIRES(units_mutex);

// Makes hooked functions count in `cells` on this thread.
void SetEntryCounters(FunctionCell* cells) ALLOMON_REQUIRES(units_mutex);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_COUNTERS_H_
