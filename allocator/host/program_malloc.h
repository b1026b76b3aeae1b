// An executable that defines malloc itself, over the backend that keeps the program's
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

// The library's own blocks while the program's malloc is seen.  They lie in the sampled range,
// which has no block of the program's then: its malloc may be gone when a profile is written, or
// not ready when one starts.  The next malloc's if the range is full.  FreeOwn() returns false, and
// frees nothing, if the block is not of the range.  Thread safe.
void* AllocateOwn(size_t size_bytes, size_t alignment_bytes);
bool FreeOwn(void* block);

// A function that dladdr() finds no name for, since the executable's symbol of that name leads to
// us.
struct UnnamedFunction {
  const char* name;    // nullptr: the address is in no such function.  Never freed
  const void* start;   // the function's first byte
  const void* symbol;  // an ElfW(Sym), as the executable had it; nullptr for a function of ours
};

// Finds the function of the executable's malloc that has this address, or the one of ours in front
// of it that starts there.  The result has no name while the program's malloc is not seen.  Any
// thread, also in a signal handler: reads constant tables, takes no lock, does not allocate.  Cost:
// a look at some 50 symbols.
UnnamedFunction FindUnnamedFunction(const void* address);

// Whether a profile, a recording, the guard or an order (ALLOMON_PROFILE=idle) may need the
// program's blocks.  Reads the environment.
bool SomethingIsAskedFor();

// Points the references to the executable's malloc to us, if malloc is the executable's, and if the
// process is as it starts.  Otherwise changes nothing.  Called once, by the first constructor,
// before there is a second thread.  Calls no malloc of ours.  Does nothing in a preloaded library
// over another backend; not defined elsewhere.  Cost: a look at each reference of the objects that
// were loaded at the start.
__attribute__((weak)) void SeeProgramMalloc();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_PROGRAM_MALLOC_H_
