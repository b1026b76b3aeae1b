// Records the process into the file of ALLOMON_RECORD.  Part of liballomon.so and of
// //allocator:auto_profile.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// Before main, where the caller has made sure that the environment may be obeyed.  An error is one
// line on standard error, and the program runs unrecorded.  Nothing is left to do at exit.
void StartRecordingIfWanted(const EnvironmentOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_RECORDING_H_
