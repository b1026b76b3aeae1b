// ALLOMON_PROFILE=idle: samples nothing until `allomon ctl` asks for it.  Part of liballomon.so and
// of //allocator:auto_profile.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// Whether it is asked for.  Then nothing else is profiled or recorded from the start.
bool IsIdle(const EnvironmentOptions& options);

// Before main, where the caller has made sure that the environment may be obeyed.  An error is one
// line on standard error, and the program runs on, out of reach.
void AttendIfWanted(const EnvironmentOptions& options);

// Where the process ends: nobody can ask it any more.  In signal handlers and after vfork, too.
void StopAttending();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_
