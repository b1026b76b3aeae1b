// The backend interface over the allocator of the C library.
//
// When our own malloc replaces the C library's, its functions are reached by the names
// that glibc keeps for that purpose.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_

#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace allomon::backend {

inline constexpr const char* kName = "system";

inline void* Malloc(size_t size_bytes) { return __libc_malloc(size_bytes); }
inline void Free(void* block) { __libc_free(block); }
inline void* Calloc(size_t size_bytes) { return __libc_calloc(1, size_bytes); }
inline void* Realloc(void* block, size_t size_bytes) {
  // glibc frees the block and returns nullptr for size 0; we always return a block.
  return __libc_realloc(block, size_bytes == 0 ? 1 : size_bytes);
}
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  return __libc_memalign(alignment_bytes, size_bytes);
}
size_t UsableSize(const void* block);
inline size_t GoodSize(size_t size_bytes) {
  // glibc's chunks: 16-aligned with 8 bytes of header, at least 24 usable.
  return size_bytes <= 24 ? 24 : ((size_bytes + 8 + 15) & ~size_t{15}) - 8;
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_SYSTEM_ALLOMON_BACKEND_H_
