// Records the process into the file of ALLOMON_RECORD.  Part of liballomon.so and of
// //allocator:auto_profile.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_

#include "allocator/environment/environment.h"
#include "tracker/recording/watcher.h"

namespace allomon::internal {

// Starts the recording.  Called before main, when the caller has checked that the environment may
// be obeyed.  On an error prints one line on standard error, and the program runs unrecorded.  Exit
// needs no action.
void StartRecordingIfWanted(const EnvironmentOptions& options);

// ---- ALLOMON_SAVE: the watcher that saves copies of a recording.  Part of liballomon.so and of
// //allocator:auto_profile.

// Returns the watcher, or nullptr if no copies are requested.  Called before main.  The options
// must live as long as the process.
recording::Watcher* WatcherIfWanted(const EnvironmentOptions& options);

// Prints a message if copies are requested and nothing can be recorded.
void CheckSave(const EnvironmentOptions& options);

// ---- ALLOMON_PROFILE=idle: samples nothing until `allomon ctl` asks for it.  Part of
// liballomon.so and of //allocator:auto_profile.

// Whether ALLOMON_PROFILE=idle was set.  Then nothing else is profiled or recorded from the start.
bool IsIdle(const EnvironmentOptions& options);

// Starts listening for `allomon ctl`, and for tracers that attach to USDT probes.  Called before
// main, when the caller has checked that the environment may be obeyed.  On an error prints a line
// on standard error, and the program runs on without control.
void AttendIfWanted(const EnvironmentOptions& options);

// Stops listening, when the process ends.  May be called in signal handlers and after vfork.
void StopAttending();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_
