// The backend interface over the allocator of the C library.
//
// When //allocator:malloc replaces the C library's malloc, the C library's functions are called by
// the names that glibc keeps for that purpose.  A sanitizer has a malloc of its own and is never
// combined with //allocator:malloc.  Under a sanitizer the functions are called by their ordinary
// names, so the sanitizer checks every block.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_

#include <cstddef>
#include <cstdlib>

#include "allocator/backends/heap_usage.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define ALLOMON_LIBC(name) (::name)
#else
#define ALLOMON_LIBC(name) __libc_##name
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}
#endif

// The library must not define these names itself.
#define ALLOMON_BACKEND_CALLS_LIBC_NAMES 1

namespace allomon::backend {

inline constexpr const char* kName = "system";

// The thread sanitizer claims a usable byte in a block of size 0, and reports an access to it.
inline size_t AskedBytes(size_t size_bytes) {
#if defined(__SANITIZE_THREAD__)
  return size_bytes == 0 ? 1 : size_bytes;
#else
  return size_bytes;
#endif
}

inline void* Malloc(size_t size_bytes) { return ALLOMON_LIBC(malloc)(AskedBytes(size_bytes)); }
inline void Free(void* block) { ALLOMON_LIBC(free)(block); }
inline void* Calloc(size_t size_bytes) { return ALLOMON_LIBC(calloc)(1, AskedBytes(size_bytes)); }
inline void* Realloc(void* block, size_t size_bytes) {
  // glibc frees the block and returns nullptr for size 0; this function always returns a block.
  return ALLOMON_LIBC(realloc)(block, size_bytes == 0 ? 1 : size_bytes);
}
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  return ALLOMON_LIBC(memalign)(alignment_bytes, AskedBytes(size_bytes));
}
size_t UsableSize(const void* block);
inline size_t GoodSize(size_t size_bytes) {
  // glibc's chunks: 16-aligned with 8 bytes of header, at least 24 usable.
  return size_bytes <= 24 ? 24 : ((size_bytes + 8 + 15) & ~size_t{15}) - 8;
}

Usage ReadUsage();
void Collect();

}  // namespace allomon::backend

#undef ALLOMON_LIBC

#endif  // ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_
