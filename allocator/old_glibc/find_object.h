// What glibc's _dl_find_object() tells (2.35 and later), found without its help.
#ifndef ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
#define ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_

#include <dlfcn.h>

#include <cstdint>

namespace allomon::internal {

// 0 and *found, or -1 if the address is in no object of the program's namespace, as glibc has it.
//
// Any thread, signal handlers; allocates nothing, takes no lock.  Follows the list that the loader
// keeps for debuggers, and fails while an UnloadGuard exists.  An object that the C library unloads
// by itself (a character set of iconv) goes without a guard: the list says so before it is gone.
// Cost: one cache line for each object that is loaded.
int FindLoadedObject(uintptr_t address, dl_find_object* found);

// Exists around a dlclose, which frees what FindLoadedObject() reads.  The constructor waits for
// calls that other threads are in, for 10,000 turns of the processor at most: a child of fork() may
// have been left with a call that no thread of it is in.  Any thread; takes no lock.
class UnloadGuard {
 public:
  UnloadGuard();
  ~UnloadGuard();
  UnloadGuard(const UnloadGuard&) = delete;
  UnloadGuard& operator=(const UnloadGuard&) = delete;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
