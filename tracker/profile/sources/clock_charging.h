// Charges bytes of managed heaps at the begin and end of functions: see allocation_clock.h.
//
// Exact for a function whose begin and end are noticed.  The bytes that a thread allocates between
// a start and the first boundary that it passes are charged by the functions that it has open at
// that boundary.  The bytes between its last boundary and a stop are charged to the function that
// ran at that boundary.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_

#include "tracker/base/thread_annotations.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {

// Whether clocks give the same result as sampling every block.  They do at rate 1, if every
// function's end is noticed (which excludes entry hooks), and if no native call stacks are charged
// for the allocations below them.
bool CanTakeClocks(ProfileKind kind, ProfileStyle style, double rate);

// Clocks count from now on: earlier allocations do not count.  The caller holds the units' lock.
void StartTakingClocks() ALLOMON_REQUIRES(units_mutex);

// Charges this thread's allocations since the last charge to the function on top of its shadow
// stack.  Does nothing unless clocks are taken.  The caller is `busy` and has called CatchUp().
void ChargeClock(ThreadProfile& thread);
// Like ChargeClock(), for a caller that is neither at the begin nor at the end of a function and
// need not be `busy`.
void ChargeThreadClock();

// Charges all threads' clocks.  The caller holds the units' lock.
void ChargeAllClocksLocked() ALLOMON_REQUIRES(units_mutex);

// Called when the calling thread ends or leaves its heap.
void ForgetThreadClock();

// Makes managed heaps report their collections, and the threads that leave them.
void InstallManagedProfiler();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_CLOCK_CHARGING_H_
