// ALLOMON_PROFILE=idle: samples nothing until `allomon ctl` asks for it.  Part of liballomon.so and
// of //allocator:auto_profile.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// Whether ALLOMON_PROFILE=idle was set.  Then nothing else is profiled or recorded from the start.
bool IsIdle(const EnvironmentOptions& options);

// Starts listening for `allomon ctl`, and for tracers that attach to USDT probes.  Called before
// main, when the caller has checked that the environment may be obeyed.  On an error prints a line
// on standard error, and the program runs on without control.
void AttendIfWanted(const EnvironmentOptions& options);

// Stops listening, when the process ends.  May be called in signal handlers and after vfork.
void StopAttending();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_CONTROL_H_
