// Writing a profile when the program is killed by SIGTERM, if it asked for that.
//
// A signal handler can write no profile: the thread that it interrupted may hold any lock.
// It wakes a thread of ours instead, which writes, and then lets the signal do its work,
// so that who waits for the program sees it killed.
#ifndef ALLOMON_TRACKER_PROFILE_TERMINATION_H_
#define ALLOMON_TRACKER_PROFILE_TERMINATION_H_

#include "tracker/profile/data_units.h"

namespace allomon::internal {

// `write` is given the unit that was current in the thread that took the signal.  False if
// the program handles or ignores SIGTERM, or no thread can be made.  At most once.
bool WriteOnTermination(void (*write)(UnitName unit));

// In a forked child, which has no such thread: SIGTERM ends it at once.
void ForgetTermination();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_TERMINATION_H_
