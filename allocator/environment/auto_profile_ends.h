// What a profile from the environment does where a program ends or becomes another one.
//
// All of these may be called by any thread, in signal handlers and after vfork, where they find out
// that they have nothing to do.  They keep errno.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_

#include <sys/types.h>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

// Writes what was recorded, if it is anything, before a program ends without exit handlers.  In a
// handler that interrupted malloc, or handles a fault, it says in one line that the profile is
// lost.
void WriteBeforeQuickEnd(const FrameState& caller);

// Writes what was recorded, beside the output, before the process executes another program, which
// will write to the output itself.  What a shell, env or nice takes before that is too little to be
// written, and a file that cannot be executed (path; nullptr: not known) is not worth it, either: a
// search of PATH tries many.  Returns whether it has written; then ForgetExec() if the process goes
// on after all.
bool WriteBeforeExec(const char* path, const FrameState& caller);
void ForgetExec();

// fork() of daemon().  The parent ends at once, so its file's name becomes the child's.
pid_t ForkDaemon();
// In a child of fork: whether ForkDaemon() has made it.
bool IsForkedDaemon();

// Before the process changes its root directory.
void PrepareForNewRoot();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_
