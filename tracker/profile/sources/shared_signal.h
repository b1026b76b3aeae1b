// Shares the ticks' signal with the host, which does not know that it is in use.
//
// A host may still set an action for it: daemons set all signals to their defaults when they start
// (daemon(7)), and browsers do so in a forked child that goes on.  The next tick would kill such a
// process.  So the ticks' handler stays installed, and the host's action is kept here: the host
// reads it back, and its handler is called for signals that are not ticks.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_SHARED_SIGNAL_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_SHARED_SIGNAL_H_

#include <signal.h>

namespace allomon::internal {

// Called once, when the ticks' handler is in place.
void ShareSignal(int signal);

// Callable anywhere, also in signal handlers, and after vfork.
bool IsSharedSignal(int signal);

// Acts like sigaction() for the shared signal; never fails.  Either pointer may be null.  If two
// threads set it at the same time, either action or a mixture results.  Callable anywhere.  The
// host's sa_mask and sa_flags are kept and have no effect.
void SetHostAction(const struct sigaction* action, struct sigaction* former);

// Calls the host's handler, if it has set one.  Without one the signal is ignored.
void CallHostHandler(int signal, siginfo_t* info, void* context);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_SHARED_SIGNAL_H_
