// Frames of interpreters that the preloaded library knows by itself.
#ifndef ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_
#define ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_

#include "allocator/environment.h"

namespace allomon::internal {

// Call stacks have Python's frames from now on, unless the environment says otherwise.  What cannot
// be shown is said if anything may be sampled.  `sees_memory`: samples of memory begin with the
// program; then Python takes each object from malloc, unless PYTHONMALLOC is set.
void ShowInterpretersIfWanted(const EnvironmentOptions& options, bool sees_memory);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_AUTO_INTERPRETERS_H_
