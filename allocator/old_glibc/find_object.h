// Finds the results of glibc's _dl_find_object() (2.35 and later) without that function.
#ifndef ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
#define ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_

#include <dlfcn.h>

#include <cstdint>

namespace allomon::internal {

// Returns 0 and sets *found, or returns -1 if the address is in no object of the program's
// namespace, as in glibc.
//
// Any thread, signal handlers; allocates nothing, takes no lock.  Follows the list that the loader
// keeps for debuggers, and fails while an UnloadGuard exists.  The C library unloads some objects
// by itself (a character set of iconv), without a guard: the list omits such an object before it is
// unmapped. Cost: one cache line for each object that is loaded.
int FindLoadedObject(uintptr_t address, dl_find_object* found);

// Exists around a dlclose, which frees memory that FindLoadedObject() reads.  The constructor waits
// for calls in other threads, for at most 10,000 turns of the processor: a child of fork() may have
// inherited the count of a call that no thread of it makes.  Any thread; takes no lock.
class UnloadGuard {
 public:
  UnloadGuard();
  ~UnloadGuard();
  UnloadGuard(const UnloadGuard&) = delete;
  UnloadGuard& operator=(const UnloadGuard&) = delete;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
