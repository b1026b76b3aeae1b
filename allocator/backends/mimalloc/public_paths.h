// Implements malloc and free by mimalloc's public functions, for versions whose structures are
// unknown to us.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PUBLIC_PATHS_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PUBLIC_PATHS_H_

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "mapped_block.h"
#include "mimalloc_version.h"

namespace allomon::backend {

// mimalloc 3 knows which parts of its memory are fresh; see CallocLarge().
inline constexpr size_t kLargestZeroedByMimalloc = kLargestUnmappedBytes;
inline bool HasOrdinaryPages(const void* /*block*/) { return false; }

inline void* MallocLarge(size_t size_bytes) {
  if (size_bytes > kLargestUnmappedBytes) return AllocateMapped(1, size_bytes);
  return mi_malloc(size_bytes);
}

inline void* Malloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return MallocLarge(size_bytes);
  return mi_malloc_small(size_bytes);
}

inline void Free(void* block) {
  if (__builtin_expect(MayBeMapped(block), 0)) return FreeHigh(block);
  mi_free(block);
}

inline void* Calloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return CallocLarge(size_bytes);
  return mi_zalloc_small(size_bytes);
}

// Takes the new block first: if there is no memory, the old block stays valid.
inline void* ReallocMoving(void* block, size_t block_bytes, size_t size_bytes) {
  void* moved = Malloc(size_bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, block, size_bytes < block_bytes ? size_bytes : block_bytes);
  Free(block);
  return moved;
}

inline void* ReallocSpecial(void* block, size_t size_bytes) {
  if (size_bytes <= kLargestUnmappedBytes) return mi_realloc(block, size_bytes);
  return ReallocMoving(block, mi_usable_size(block), size_bytes);
}

inline void* Realloc(void* block, size_t size_bytes) {
  if (__builtin_expect(block == nullptr, 0)) return Malloc(size_bytes);
  if (__builtin_expect(MayBeMapped(block), 0)) return ReallocateHigh(block, size_bytes);
  return ReallocSpecial(block, size_bytes);
}

// Keeps errno if there is a block: version 3.4.3 changes it for large alignments.
inline void* AlignedBeyondPage(size_t alignment_bytes, size_t size_bytes) {
  const int kept_errno = errno;
  void* block = mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
  if (block != nullptr) errno = kept_errno;
  return block;
}

inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  if (size_bytes > kLargestUnmappedBytes) return AllocateMapped(alignment_bytes, size_bytes);
  if (alignment_bytes > 4096) return AlignedBeyondPage(alignment_bytes, size_bytes);
  return mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_PUBLIC_PATHS_H_
