// Bytes of managed heaps, charged where functions begin and end: see allocation_clock.h.
//
// Exact for a function whose begin and end are seen.  What a thread allocates between a start and
// the first boundary that it passes is charged by what it has open then; between its last boundary
// and a stop, to the function that ran at that.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {

// Whether clocks can do what sampling every block would: at rate 1, and where no function has an
// end that is not seen (entry hooks), nor native call stacks are charged for what is allocated
// below them.
bool CanTakeClocks(ProfileKind kind, ProfileStyle style, double rate);

// Clocks count from now on: what was allocated before does not count.  Caller holds the units'
// lock.
void StartTakingClocks() ALLOMON_REQUIRES(units_mutex);

// Charges what this thread has allocated since the last time to the function on top of its shadow
// stack; nothing unless clocks are taken.  The caller is `busy` and has caught up.
void ChargeClock(ThreadProfile& thread);
// The same for a caller that is neither at a begin nor at an end of a function: it need not be
// `busy`.
void ChargeThreadClock();

// Charges all threads' clocks.  Caller holds the units' lock.
void ChargeAllClocksLocked() ALLOMON_REQUIRES(units_mutex);

// The calling thread ends, or leaves its heap.
void ForgetThreadClock();

// Makes managed heaps tell of their collections and of threads that leave.
void InstallManagedProfiler();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_
