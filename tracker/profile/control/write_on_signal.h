// Writes a profile when a signal arrives, if the program asked for that.  The signal is one that
// ends the program, SIGTERM or SIGINT, or one of the program's choice, after which the program goes
// on.
//
// A signal handler cannot write a profile, because the interrupted thread may hold any lock.  The
// handler wakes a thread of the profiler instead (dormant_thread.h), which writes, and is gone
// again.  After a signal that ends the program that thread lets the signal kill the program, so
// that a parent that waits for the program sees it killed.
//
// All functions are called from one thread, not in a signal handler, except where stated.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_

#include <signal.h>

#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

enum class AfterWriting { kGoOn, kDieBySignal };

// `write` gets the unit that was current in the thread that took the signal.  All signals that
// arrive during a writing cause one more file together.  Returns false if the program handles or
// ignores the signal, or if no thread can be made.  At most kMostSignals signals, each once.
inline constexpr int kMostSignals = 4;
bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit));

// Called in a forked child that must write: it has all that it needs, unless the fork came in the
// middle of a writing.  A writer that cannot be made again is given up: SIGTERM then ends the child
// at once, and the signal after which the program goes on does nothing.
void RestartSignalWriters();

// Called in a forked child that must write nothing.  The effect is the same as if no thread can be
// made.
void ForgetSignalWriters();

// The sigaction() of a host that must not notice our handlers.  If our handler is installed the
// host sees the default action, and if it sets the default action it gets our handler.  A host that
// queries first and replaces only the default action (Python, for SIGINT) then installs its own
// handler.  `next` is the C library's function.  Async-signal-safe; any thread, and after vfork.
using Sigaction = int (*)(int signal, const struct sigaction* action, struct sigaction* old);
int SigactionOfHost(int signal, const struct sigaction* action, struct sigaction* old,
                    Sigaction next);
// Whether SigactionOfHost() does anything but call `next`.
bool IsWatched(int signal);
// Sets the function that SigactionOfHost() calls when the host takes over the signal that was
// chosen for writing.  It must be async-signal-safe.
void TellWhenTaken(void (*tell)());

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_WRITE_ON_SIGNAL_H_
