// Frames of interpreters that the preloaded library knows by itself.
#ifndef ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_
#define ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_

#include "allocator/environment.h"

namespace allomon::internal {

// Call stacks have Python's frames from now on, unless the environment says otherwise.  What cannot
// be shown is said if a profile or a recording begins.
void ShowInterpretersIfWanted(const EnvironmentOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_
