// Writes the profile of the environment at the program's end, and on request.  auto_profile_ends.h
// has the other ways in which a program ends.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_

#include "allocator/environment/auto_profile_file.h"

namespace allomon::internal {

// nullptr if the environment asked for no profile, or had an error.  Written before main, never
// destroyed.
extern AutoProfile* auto_profile;

// Ends the profile and writes the unit that was current when the program ended, as MLton does at
// exit.  A second call does nothing.  Any thread that may allocate; not in a handler that
// interrupted malloc.
void WriteLast(UnitName unit);

// Writes the profile of the run so far.  Callers: as for WriteLast().
void WriteAndGoOn(UnitName unit);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_
