// Deallocs noticed while the thread is inside a callback, and run when it has returned:
// a user's callback that holds a lock must not be entered a second time by a block that
// it frees.
#ifndef ALLOMON_TRACKER_CORE_POSTPONED_H_
#define ALLOMON_TRACKER_CORE_POSTPONED_H_

#include "tracker/core/entry_table.h"

namespace allomon::internal {

struct ThreadState;

void PostponeDealloc(ThreadState& thread, EntryId entry);

// Runs the postponed dealloc callbacks of this thread, oldest first, and those that they
// postpone in turn.  If one ends its thread, the rest stays postponed.
void RunPostponedDeallocsSlow(ThreadState& thread);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_POSTPONED_H_
