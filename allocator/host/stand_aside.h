// Leaves a host alone that uses another malloc: malloc_owner.h, "Whose malloc" in README.md.
#ifndef ALLOMON_ALLOCATOR_HOST_STAND_ASIDE_H_
#define ALLOMON_ALLOCATOR_HOST_STAND_ASIDE_H_

namespace allomon {

// Whether profiling and guarding are impossible.  The first call that returns true prints the
// reason, in one line on standard error, unless nothing was requested (ALLOMON_PROFILE=no, and no
// ALLOMON_GUARD).  Weak: a program that profiles its time need not link //allocator.  Calls no
// malloc.  One call at a time, after RememberStderr().
__attribute__((weak)) bool StandsAsideAndSaysSo();

// Prints one line if unsampled blocks come from a malloc other than the program's own, unless
// `wanted` (ALLOMON_BACKEND) asks for it; and if `wanted` is not the backend of this library.
// Weak, and calls no malloc, as above.
__attribute__((weak)) void SayWhatIsReplaced(const char* wanted);

// The allocator that gives what is not sampled: the backend's name, and the file whose malloc it
// stands in for, or with the backend "host" the file of the malloc that is called; nullptr where
// that is the C library's, and in an executable that has the allocator linked in.
struct AllocatorNames {
  const char* backend;
  const char* file;
};
// Weak, and calls no malloc, as above.  Cost: the first time, a look into each loaded object's
// symbols.
__attribute__((weak)) AllocatorNames NamesOfAllocator();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_HOST_STAND_ASIDE_H_
