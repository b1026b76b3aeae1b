// Memory within reach of a module's code: for code that 32-bit displacements lead to.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// The system's way to map readable and writable pages at an address, without replacing what is
// there; tests have others.
struct PageMapper {
  // Like mmap(2) with MAP_FIXED_NOREPLACE, and like it may give another address than `at`: kernels
  // before 4.17 do not know the flag, and take the address for a hint.  MAP_FAILED if it gives
  // none.
  void* (*map)(uintptr_t at, size_t size_bytes);
  void (*unmap)(void* pages, size_t size_bytes);
};
extern const PageMapper kernel_pages;

// Pages of which every byte is within 2 GiB of every byte of the code in [begin, end); nullptr if
// there is no room.  Below the code if possible, from near to far; else above, from far to near:
// the heap of a position-dependent program begins just above it, and grows.  `begin` is the address
// of code, so at least a mebibyte.  Cost: a system call for each mebibyte looked at, 4,096 at most.
void* MapNear(uintptr_t begin, uintptr_t end, size_t size_bytes,
              const PageMapper& mapper = kernel_pages);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_
