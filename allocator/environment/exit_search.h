// ALLOMON_LEAKS=exit: at its exit the process waits until `allomon run` has searched its memory for
// blocks that nothing refers to.  Part of liballomon.so and of //allocator:auto_profile.
//
// The wait comes last in exit(), after the functions of atexit and the destructors of static
// objects, which free what is theirs: a container that is a global variable has lost nothing then.
// In an executable that links the allocator, destructors of objects that were constructed earlier
// come later.  A process that ends by _exit, by a signal or by executing another program does not
// wait.
//
// The wait makes no system call, since a seccomp filter of the host may kill for one, writes
// nothing but the desk of the memory file (ExitDesk), and ends by itself if `allomon run` ends.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_EXIT_SEARCH_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_EXIT_SEARCH_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// Called before main, after the recording has begun.  On an error prints one line, and the process
// will not wait.
void WaitAtExitIfWanted(const EnvironmentOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_EXIT_SEARCH_H_
