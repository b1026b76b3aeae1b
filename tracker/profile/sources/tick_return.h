// The way back from a tick's handler, also where a filter of system calls refuses rt_sigreturn.
//
// A host may give itself up to such a filter at any moment, by whatever system call.  The C
// library's way back goes on behind the call, into what lies there.  Ours restores the registers
// by itself then; the timers' signal stays blocked on the thread, which so gets no more ticks.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_TICK_RETURN_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_TICK_RETURN_H_

#include <signal.h>

namespace allomon::internal {

// As sigaction() for a handler with SA_SIGINFO.  False: refused, see errno.  On machines other than
// x86-64, and for the thread sanitizer, it is sigaction().
bool SetTickAction(int signal, const struct sigaction& action);

// Called on the thread whose way back was refused.  Keeps nothing of errno.
void OnTickReturnRefused();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_TICK_RETURN_H_
