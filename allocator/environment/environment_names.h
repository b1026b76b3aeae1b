// Names of environment variables that nobody has given a meaning: typing mistakes, mostly.
//
// Pure functions; they allocate by operator new.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_

#include <string_view>

#include "tracker/formats/variables.h"

namespace allomon {

// nullptr: no component reads it.
const KnownVariable* FindVariable(std::string_view name);

// The one that was meant, as it seems: of letters changed, left out, added or exchanged it is the
// fewest away, and no more than a third of its letters; or one of the names begins with the other.
// nullptr if there is none.  Names with "ALLOMON_" before them.
const KnownVariable* NearestVariable(std::string_view name);

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_
