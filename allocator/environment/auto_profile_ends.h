// Writes the profile of the environment when a program ends or executes another one.
//
// Any thread may call these functions, also in signal handlers and after vfork, where they detect
// that they must do nothing.  They keep errno.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_

#include <sys/types.h>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

// Writes what was recorded, if anything, before a program ends without exit handlers.  In a handler
// that interrupted malloc, or handles a fault, prints one line that the profile is lost.
void WriteBeforeQuickEnd(const FrameState& caller);

// Writes what was recorded to a file next to the output before the process executes another
// program, which will write to the output itself.  Skips the writing for the small amounts that a
// shell, env or nice records before that, and for a file that cannot be executed (path; nullptr:
// not known), as a search of PATH tries many.  Returns whether it has written; then the caller must
// call ForgetExec() if the process continues after all.
bool WriteBeforeExec(const char* path, const FrameState& caller);
void ForgetExec();

// Calls fork() for daemon().  The parent ends at once, so its file name becomes the child's.
pid_t ForkDaemon();
// Whether ForkDaemon() has made this process, a child of fork.
bool IsForkedDaemon();

// Called before the process changes its root directory.
void PrepareForNewRoot();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_ENDS_H_
