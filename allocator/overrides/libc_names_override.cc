// The names that glibc's malloc has besides malloc.  A program that takes a block by one of them
// frees it by free().
#include <stdlib.h>
#include <unistd.h>

#include "allocator/alloc_path.h"

#if !defined(ALLOMON_BACKEND_CALLS_LIBC_NAMES)

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

// Each jumps to the function of malloc_override.cc.
extern "C" {

void* memalign(size_t alignment_bytes, size_t size_bytes) noexcept;
void* valloc(size_t size_bytes) noexcept;
void* pvalloc(size_t size_bytes) noexcept;

ALLOMON_EXPORT void* __libc_malloc(size_t size_bytes) noexcept { return malloc(size_bytes); }
ALLOMON_EXPORT void __libc_free(void* block) noexcept { free(block); }
ALLOMON_EXPORT void* __libc_calloc(size_t count, size_t size_bytes) noexcept {
  return calloc(count, size_bytes);
}
ALLOMON_EXPORT void* __libc_realloc(void* block, size_t size_bytes) noexcept {
  return realloc(block, size_bytes);
}
ALLOMON_EXPORT void* __libc_memalign(size_t alignment_bytes, size_t size_bytes) noexcept {
  return memalign(alignment_bytes, size_bytes);
}
ALLOMON_EXPORT void* __libc_valloc(size_t size_bytes) noexcept { return valloc(size_bytes); }
ALLOMON_EXPORT void* __libc_pvalloc(size_t size_bytes) noexcept { return pvalloc(size_bytes); }

// Used by programs that were linked before glibc 2.26.
ALLOMON_EXPORT void cfree(void* block) noexcept { free(block); }

}  // extern "C"

#endif  // ALLOMON_BACKEND_CALLS_LIBC_NAMES
