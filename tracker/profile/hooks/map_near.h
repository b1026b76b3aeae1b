// Memory within reach of a module's code, for code that is the target of its jumps.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// The system's functions that map readable and writable pages at an address, without replacing the
// present mappings.  Tests pass other functions.
struct PageMapper {
  // Like mmap(2) with MAP_FIXED_NOREPLACE, which may give another address than `at`: kernels before
  // 4.17 do not know the flag, and take the address for a hint.  Returns MAP_FAILED if it maps
  // nothing.
  void* (*map)(uintptr_t at, size_t size_bytes);
  void (*unmap)(void* pages, size_t size_bytes);
};
extern const PageMapper kernel_pages;

// Maps pages of which every byte is less than `reach_bytes` from every byte of the code in [begin,
// end); nullptr if there is no room.  Places below the code are tried first, from near to far. Then
// places above it are tried, from far to near, because the heap of a position-dependent program
// begins just above its code, and grows.  `begin` is the address of code, so it is at least a
// mebibyte.  Cost: a system call for each mebibyte tried, at most one for each of twice the reach.
void* MapNear(uintptr_t begin, uintptr_t end, size_t size_bytes, uintptr_t reach_bytes,
              const PageMapper& mapper = kernel_pages);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_MAP_NEAR_H_
