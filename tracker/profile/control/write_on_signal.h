// Writing a profile when a signal arrives, if the program asked for that: SIGTERM before it kills,
// or a signal of the program's choice while it goes on.
//
// A signal handler can write no profile: the thread that it interrupted may hold any lock.  It
// wakes a thread of ours instead, which writes.  For SIGTERM that thread then lets the signal do
// its work, so that a parent that waits for the program sees it killed.
//
// Call all of this from one thread, not in a signal handler.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_

#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

enum class AfterWriting { kGoOn, kDieBySignal };

// `write` is given the unit that was current in the thread that took the signal.  However many
// signals arrive while it writes, it writes one more file for all of them.  False if the program
// handles or ignores the signal, or no thread can be made.  At most once for each `after`.
bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit));

// In a forked child, which has no such threads: makes them again.  Costs the child 0.2 ms and 160
// KiB at once (README.md, "What it costs"): the handler cannot make a thread when the signal is
// there.  What cannot be made is given up; SIGTERM then ends the child at once, and the other
// signal does nothing.
void RestartSignalWriters();

// In a forked child that is to write nothing: the same as when no thread can be made.
void ForgetSignalWriters();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
