// Frames of the interpreters that the preloaded library supports.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_

#include "allocator/environment/environment.h"

namespace allomon::internal {

// The way in which an interpreter's objects are sampled.
enum class ObjectSampling {
  kNever,     // nothing samples memory
  kInArenas,  // objects stay in the interpreter's arenas, except the sampled ones
  kAll,       // each object is a block of malloc: for rates at which many are sampled
};

// Makes call stacks show Python's frames, unless the environment says otherwise.  If anything may
// be sampled, prints what cannot be shown.  PYTHONMALLOC takes precedence for objects.
void ShowInterpretersIfWanted(const EnvironmentOptions& options, ObjectSampling objects);

// Prints one line on standard error.
void SayPythonIsNotShown(const char* why_not);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_INTERPRETERS_H_
