// Frames of interpreters that the preloaded library knows by itself.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// How the objects of an interpreter are seen.
enum class ObjectSampling {
  kNever,     // nothing samples memory
  kInArenas,  // objects stay in the interpreter's arenas, but for those that are sampled
  kAll,       // each is a block of malloc: for rates at which many are sampled
};

// Call stacks have Python's frames from now on, unless the environment says otherwise.  What cannot
// be shown is said if anything may be sampled.  PYTHONMALLOC has the last word about objects.
void ShowInterpretersIfWanted(const EnvironmentOptions& options, ObjectSampling objects);

// One line on standard error.
void SayPythonIsNotShown(const char* why_not);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_
