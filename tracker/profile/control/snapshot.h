// Takes a profile out of the recorder, as a value.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_SNAPSHOT_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_SNAPSHOT_H_

#include "tracker/profile/record/data_units.h"
#include "tracker/profile/write/profile_snapshot.h"

namespace allomon::internal {

// The functions that the program text names.  Any thread; allocates.  The first call may read
// symbol tables.
ProgramFunctions FunctionsOfProgram();

// The counts of the last recording, which may still be on, in that unit; for live blocks, the
// counts of the whole process.  Fails with kFreed.  Any thread; allocates; not inside malloc, not
// in signal handlers.  Threads that count at the same time may have added to some numbers and not
// yet to others.
UnitError TakeSnapshot(UnitName unit, ProfileSnapshot* snapshot);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_SNAPSHOT_H_
