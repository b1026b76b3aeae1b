// The address ranges of loaded code.
//
// Any thread, signal handlers; allocates nothing, takes no lock.
#ifndef ALLOMON_ALLOCATOR_HOST_CODE_EXTENT_H_
#define ALLOMON_ALLOCATOR_HOST_CODE_EXTENT_H_

#include <cstdint>

namespace allomon::internal {

struct CodeExtent {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool is_program = false;  // the executable, not a library

  bool Contains(uintptr_t address) const { return begin <= address && address < end; }
};

// Finds the mapping of the loaded object that contains the address.  False if no object does.
bool FindCodeExtent(uintptr_t address, CodeExtent* extent);

// Returns the extent of the object that contains this function: liballomon.so, or a program that is
// linked with Allomon.  Empty if it is not known.
CodeExtent OwnCodeExtent();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_CODE_EXTENT_H_
