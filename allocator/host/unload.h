// The C library's dlclose, as a function that a build for older C libraries can stand before.
#ifndef ALLOMON_ALLOCATOR_HOST_UNLOAD_H_
#define ALLOMON_ALLOCATOR_HOST_UNLOAD_H_

// unload(handle), which is the C library's dlclose, and what that returns.  In a file of its own:
// where lookups for call stacks read what dlclose frees, the linker puts the function of
// old_glibc/functions.cc in its place (--wrap).  Thread rule and failures are dlclose's.
extern "C" int allomon_unload(void* handle, int (*unload)(void*));

#endif  // ALLOMON_ALLOCATOR_HOST_UNLOAD_H_
