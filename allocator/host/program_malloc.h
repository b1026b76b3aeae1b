// A program whose executable defines malloc itself, over the backend that keeps the program's
// malloc.
//
// Such a malloc comes before ours where symbols are looked up.  So the references of all other
// objects are pointed to functions of ours, which call the executable's: "The program's own malloc"
// in README.md.  Data is changed, never code.
//
// The answer is found once, by the library's first constructor, and never changes.
#ifndef ALLOMON_ALLOCATOR_HOST_PROGRAM_MALLOC_H_
#define ALLOMON_ALLOCATOR_HOST_PROGRAM_MALLOC_H_

#include "allocator/host/malloc_owner.h"

namespace allomon::internal {

// Whether functions of ours see the executable's malloc.  Written by the first constructor alone.
extern bool program_malloc_is_seen ALLOMON_HIDDEN;

// Why they do not, for a line to the user; nullptr where nobody tried.  Never freed.
extern const char* why_program_malloc_is_unseen ALLOMON_HIDDEN;

// Whether this library neither gives the program's blocks nor sees them.  Cost and place as
// StandsAside().
inline bool SeesNoMalloc() { return StandsAside() && !program_malloc_is_seen; }

// Points the references to the executable's malloc to us, if malloc is the executable's, and if the
// process is as it starts.  Otherwise changes nothing.  Called once, by the first constructor,
// before there is a second thread.  Calls no malloc of ours.  Defined in the preloaded library
// only, where the backend is the program's own malloc.  Cost: a look at each reference of the
// objects that were loaded at the start.
__attribute__((weak)) void SeeProgramMalloc();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_PROGRAM_MALLOC_H_
