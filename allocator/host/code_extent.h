// Where loaded code lies.
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

// The mapping of the object that the address is in.  False if it is in none.
bool FindCodeExtent(uintptr_t address, CodeExtent* extent);

// That of the object which this function is in: liballomon.so, or a program that is linked with
// Allomon.  Empty if it is not known.
CodeExtent OwnCodeExtent();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_CODE_EXTENT_H_
