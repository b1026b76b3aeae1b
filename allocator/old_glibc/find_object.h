// What glibc's _dl_find_object() tells (2.35 and later), found without its help.
#ifndef ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
#define ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_

#include <dlfcn.h>

#include <cstdint>

namespace allomon::internal {

// 0 and *found, or -1 if the address is in no object of the program's namespace, as glibc has it.
//
// Any thread, signal handlers; allocates nothing, takes no lock.  Follows the list that the loader
// keeps for debuggers, and fails while an object is being unloaded.  An object must not be unloaded
// by another thread while its own code is looked up; for others the list says that they go before
// they are gone.  Cost: one cache line for each object that is loaded.
int FindLoadedObject(uintptr_t address, dl_find_object* found);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OLD_GLIBC_FIND_OBJECT_H_
