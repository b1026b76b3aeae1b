// malloc's and free's common cases on mimalloc's own structures: a page's free list, the page of an
// address.  All other cases are left to the library.
//
// They are correct for release settings only: no padding, no encoded lists, no statistics.
// tools/workspace/mimalloc.BUILD makes these settings, and the checks below enforce them.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_INLINE_PATHS_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_INLINE_PATHS_H_

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mapped_block.h"
#include "mimalloc_version.h"
#if MI_MALLOC_VERSION == 209
#include "version_2.h"
#else
#include "version_3.h"
#endif

#if MI_PADDING || MI_SECURE || MI_DEBUG || MI_STAT || MI_GUARDED || defined(MI_ENCODE_FREELIST)
#error "the inline paths hold for mimalloc's release settings only"
#endif

// mimalloc's C code declares some fields _Atomic.
static_assert(sizeof(std::atomic<uintptr_t>) == sizeof(uintptr_t) &&
                  alignof(std::atomic<uintptr_t>) == alignof(uintptr_t),
              "atomic words have one layout in both languages");

namespace allomon::backend {

__attribute__((noinline)) inline void* MallocLarge(size_t size_bytes) {
  if (__builtin_expect(size_bytes > kLargestUnmappedBytes, 0)) return AllocateMapped(1, size_bytes);
  return mi_malloc(size_bytes);
}

// Returns the page that serves a small size.  The number of words is written as the words with the
// header word, less one: the countdown has already computed the former, and the compiler shares the
// result.
inline mi_page_t* SmallPage(mi_heap_t* heap, size_t size_bytes) {
  return heap->pages_free_direct[(size_bytes + 15) / 8 - 1];
}

// Takes `block`, the page's first free block, which is not nullptr.
inline void* Pop(mi_page_t* page, mi_block_t* block) {
  page->used++;
  page->free = reinterpret_cast<mi_block_t*>(block->next);
  return block;
}

inline void* Malloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return MallocLarge(size_bytes);
  mi_heap_t* heap = ThreadHeap();
  mi_page_t* page = SmallPage(heap, size_bytes);
  mi_block_t* block = page->free;
  if (__builtin_expect(block == nullptr, 0)) {
    return _mi_malloc_generic(heap, size_bytes, false, 0);
  }
  return Pop(page, block);
}

inline void Free(void* block) {
  // Costs nothing if the caller has already found the block to lie below 64 TiB (IsSuspect()).
  if (__builtin_expect(MayBeMapped(block), 0)) return FreeHigh(block);
  if (!kNullHasPage && __builtin_expect(block == nullptr, 0)) return;
  mi_page_t* page = PageOf(block);
  // mi_free() ends in the same slow paths.  A direct call would be slower: its arguments would have
  // to be copied into registers on the common path, too.
  if (__builtin_expect(!IsPlainAndOwn(page, block), 0)) return FreeRare(block);
  mi_block_t* freed = static_cast<mi_block_t*>(block);
  freed->next = reinterpret_cast<mi_encoded_t>(page->local_free);
  page->local_free = freed;
  if (__builtin_expect(--page->used == 0, 0)) _mi_page_retire(page);
}

inline void* Calloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return CallocLarge(size_bytes);
  mi_page_t* page = SmallPage(ThreadHeap(), size_bytes);
  mi_block_t* block = page->free;
  if (__builtin_expect(block == nullptr, 0)) return mi_zalloc(size_bytes);
  Pop(page, block);
  // If the page is fresh from the kernel, only the block's link is not zero. The builtin returns
  // its argument, so that it is the last call also under -fno-builtin.
  const size_t used_bytes = IsFresh(page) ? sizeof(*block) : BlockBytes(page);
  return __builtin_memset(static_cast<void*>(block), 0, used_bytes);
}

// Takes the new block first: if there is no memory, the old block stays valid.
__attribute__((noinline)) inline void* ReallocMoving(void* block, size_t block_bytes,
                                                     size_t size_bytes) {
  void* moved = Malloc(size_bytes);
  if (__builtin_expect(moved == nullptr, 0)) return nullptr;
  memcpy(moved, block, size_bytes < block_bytes ? size_bytes : block_bytes);
  Free(block);
  return moved;
}

// Reallocates blocks of which mimalloc knows more than their page says.
__attribute__((noinline)) inline void* ReallocSpecial(void* block, size_t size_bytes) {
  if (size_bytes <= kLargestUnmappedBytes && !IsFollowedInPlace(block)) {
    return mi_realloc(block, size_bytes);
  }
  return ReallocMoving(block, mi_usable_size(block), size_bytes);
}

// Decides as mi_realloc() does: a block stays in place if the new size fills at least half of it.
inline void* Realloc(void* block, size_t size_bytes) {
  if (__builtin_expect(block == nullptr, 0)) return Malloc(size_bytes);
  if (__builtin_expect(MayBeMapped(block), 0)) return ReallocateHigh(block, size_bytes);
  const mi_page_t* page = PageOf(block);
  if (__builtin_expect(HasSpecialBlocks(page), 0)) return ReallocSpecial(block, size_bytes);
  const size_t block_bytes = BlockBytes(page);
  const bool fits = size_bytes <= block_bytes && size_bytes >= block_bytes / 2 && size_bytes > 0;
  return fits ? block : ReallocMoving(block, block_bytes, size_bytes);
}

// mi_malloc_aligned() is not used: version 2.0.9 believes that blocks of a power of two up to 1024
// bytes are aligned to their size, but their pages start at an odd multiple of 128.
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  if (__builtin_expect(size_bytes <= MI_SMALL_SIZE_MAX, 1)) {
    mi_page_t* page = SmallPage(ThreadHeap(), size_bytes);
    mi_block_t* block = page->free;
    const bool aligned = (reinterpret_cast<uintptr_t>(block) & (alignment_bytes - 1)) == 0;
    if (__builtin_expect(block != nullptr && aligned, 1)) return Pop(page, block);
  }
  if (__builtin_expect(size_bytes > kLargestUnmappedBytes, 0)) {
    return AllocateMapped(alignment_bytes, size_bytes);
  }
  return mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_INLINE_PATHS_H_
