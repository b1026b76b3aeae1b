// The C library's dlclose, as a function that a build for older C libraries can replace.
#ifndef ALLOMON_ALLOCATOR_HOST_UNLOAD_H_
#define ALLOMON_ALLOCATOR_HOST_UNLOAD_H_

// Calls unload(handle), the C library's dlclose, and returns its result.  It is in a file of its
// own because in builds in which lookups for call stacks read memory that dlclose frees, the linker
// replaces it by the function of old_glibc/functions.cc (--wrap).  Thread rule and failures are
// dlclose's.
extern "C" int allomon_unload(void* handle, int (*unload)(void*));

#endif  // ALLOMON_ALLOCATOR_HOST_UNLOAD_H_
