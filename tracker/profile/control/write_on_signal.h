// Writes a profile when a signal arrives, if the program asked for that.  The signal is SIGTERM,
// before it kills, or a signal of the program's choice, after which the program goes on.
//
// A signal handler cannot write a profile, because the interrupted thread may hold any lock.  The
// handler wakes a thread of the profiler instead, which writes.  After SIGTERM that thread then
// lets the signal kill the program, so that a parent that waits for the program sees it killed.
//
// All functions are called from one thread, not in a signal handler.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_

#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

enum class AfterWriting { kGoOn, kDieBySignal };

// `write` is given the unit that was current in the thread that took the signal.  However many
// signals arrive while it writes, it writes one more file for all of them.  Returns false if the
// program handles or ignores the signal, or if no thread can be made.  Called at most once for each
// `after`.
bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit));

// Called in a forked child, which has no writer threads: makes them again.  Costs the child 0.2 ms
// and 160 KiB at once (README.md, "What it costs"), because the handler cannot make a thread when
// the signal arrives.  A writer that cannot be made is given up: SIGTERM then ends the child at
// once, and the other signal does nothing.
void RestartSignalWriters();

// Called in a forked child that is to write nothing.  The effect is the same as when no thread can
// be made.
void ForgetSignalWriters();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
