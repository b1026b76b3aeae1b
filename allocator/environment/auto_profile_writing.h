// When the profile of the environment is written: at the program's end, and when it is asked for.
// What else ends a program is in auto_profile_ends.h.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_

#include "allocator/environment/auto_profile_file.h"

namespace allomon::internal {

// nullptr if the environment asked for nothing, or wrongly.  Written before main, never destroyed.
extern AutoProfile* auto_profile;

// Ends the profile and writes the unit that was current where the program ended, as MLton does at
// exit.  Nothing happens the second time.  Any thread that may allocate; not in a handler that
// interrupted malloc.
void WriteLast(UnitName unit);

// Writes the profile of the run so far.  As WriteLast().
void WriteAndGoOn(UnitName unit);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_WRITING_H_
