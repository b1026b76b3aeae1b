// Suggestions for unknown environment variables, which are mostly typing mistakes.
//
// Pure functions; they allocate by operator new.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_

#include <string_view>

#include "tracker/formats/variables.h"

namespace allomon {

// nullptr: no component reads it.
const KnownVariable* FindVariable(std::string_view name);

// Returns the variable that was probably meant, or nullptr: the one with the fewest letters
// changed, left out, added or exchanged, at most a third of its letters; or one of which either
// name begins with the other.  Both names include "ALLOMON_".
const KnownVariable* NearestVariable(std::string_view name);

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_ENVIRONMENT_NAMES_H_
