// Deallocs that a thread notices while it is inside a callback, and runs when the callback has
// returned: a user's callback that holds a lock must not be entered a second time for a block that
// it frees.
#ifndef ALLOMON_TRACKER_CORE_POSTPONED_H_
#define ALLOMON_TRACKER_CORE_POSTPONED_H_

#include "tracker/core/entry_table.h"

namespace allomon::internal {

struct ThreadState;

void PostponeDealloc(ThreadState& thread, EntryId entry);

// Runs the postponed dealloc callbacks of this thread, oldest first, and then the deallocs that
// these postpone in turn.  If one ends its thread, the rest stays postponed.
void RunPostponedDeallocsSlow(ThreadState& thread);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_POSTPONED_H_
