// The backend interface over mimalloc 2.0.9, with its hot paths inline.
//
// mimalloc exports functions only, and a call and a jump per operation cost more than sampling
// does.  So the functions below do the common case on mimalloc's own structures (see
// mimalloc-types.h: a page's free list, the segment of an address) and leave all other cases to the
// library.  They are correct for release settings only: no padding, no encoded lists, no
// statistics.  tools/workspace/mimalloc.BUILD makes these settings, and the checks below enforce
// them.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "allocator/backends/heap_usage.h"

// mimalloc.h comes first, because the internal header does not include it.  The internal header
// belongs to a library that is compiled as C.  It includes <atomic> and <thread>, whose
// declarations must not be extern "C".
// clang-format off
#include "mimalloc.h"
extern "C" {
#include "mimalloc-internal.h"
}
// clang-format on

#include "mapped_block.h"
#include "zeroed_block.h"

#if MI_MALLOC_VERSION != 209
#error "the inline paths mirror mimalloc 2.0.9; ./bazelw fetches it"
#endif
#if MI_PADDING || MI_SECURE || MI_DEBUG || MI_STAT || defined(MI_ENCODE_FREELIST)
#error "the inline paths hold for mimalloc's release settings only"
#endif

// mimalloc's C code declares these fields _Atomic.
static_assert(sizeof(std::atomic<uintptr_t>) == sizeof(uintptr_t) &&
                  alignof(std::atomic<uintptr_t>) == alignof(uintptr_t),
              "atomic words have one layout in both languages");

namespace allomon::backend {

inline constexpr const char* kName = "mimalloc";

static_assert(kLargestUnmappedBytes == MI_LARGE_OBJ_SIZE_MAX, "parts of a segment, which is kept");

// Blocks beyond kLargestUnmappedBytes.  mimalloc serves them where mappings lie below 64 TiB.
void* AllocateMapped(size_t alignment_bytes, size_t size_bytes);
void* ReallocateHigh(void* block, size_t size_bytes);
void FreeHigh(void* block);
// calloc beyond mimalloc's small blocks.
void* CallocLarge(size_t size_bytes);

__attribute__((noinline)) inline void* MallocLarge(size_t size_bytes) {
  if (__builtin_expect(size_bytes > kLargestUnmappedBytes, 0)) return AllocateMapped(1, size_bytes);
  return mi_malloc(size_bytes);
}

// The page that serves a small size.  The number of words is written as one more than is needed,
// less one: the countdown has computed the words with the header word already, and the compiler
// shares the result.
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
  mi_heap_t* heap = mi_get_default_heap();
  mi_page_t* page = SmallPage(heap, size_bytes);
  mi_block_t* block = page->free;
  if (__builtin_expect(block == nullptr, 0)) {
    return _mi_malloc_generic(heap, size_bytes, false, 0);
  }
  return Pop(page, block);
}

inline void Free(void* block) {
  // Costs nothing where the caller has found the block to lie below 64 TiB (IsSuspect()).
  if (__builtin_expect(MayBeMapped(block), 0)) return FreeHigh(block);
  // The segment of nullptr would lie at the top of the address space, so nullptr is tested first.
  if (__builtin_expect(block == nullptr, 0)) return;
  mi_segment_t* segment = _mi_ptr_segment(block);
  mi_page_t* page = _mi_segment_page_of(segment, block);
  const bool own = segment->thread_id.load(std::memory_order_relaxed) == _mi_thread_id();
  // mi_free() calls _mi_free_generic() in the end.  A direct call would be slower: its arguments
  // would have to be copied into registers on the common path, too.
  if (__builtin_expect(!own || page->flags.full_aligned != 0, 0)) return mi_free(block);
  mi_block_t* freed = static_cast<mi_block_t*>(block);
  freed->next = reinterpret_cast<mi_encoded_t>(page->local_free);
  page->local_free = freed;
  if (__builtin_expect(--page->used == 0, 0)) _mi_page_retire(page);
}

inline void* Calloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return CallocLarge(size_bytes);
  mi_page_t* page = SmallPage(mi_get_default_heap(), size_bytes);
  mi_block_t* block = page->free;
  if (__builtin_expect(block == nullptr, 0)) return mi_zalloc(size_bytes);
  Pop(page, block);
  // In a page fresh from the kernel only the block's link is not zero.
  return memset(static_cast<void*>(block), 0, page->is_zero ? sizeof(*block) : page->xblock_size);
}

// The new block is taken first: if there is no memory, the old block lives on.
__attribute__((noinline)) inline void* ReallocMoving(void* block, size_t block_bytes,
                                                     size_t size_bytes) {
  void* moved = Malloc(size_bytes);
  if (__builtin_expect(moved == nullptr, 0)) return nullptr;
  memcpy(moved, block, size_bytes < block_bytes ? size_bytes : block_bytes);
  Free(block);
  return moved;
}

// Blocks that mimalloc knows more about than its page says: aligned or huge ones.
__attribute__((noinline)) inline void* ReallocSpecial(void* block, size_t size_bytes) {
  if (size_bytes <= kLargestUnmappedBytes) return mi_realloc(block, size_bytes);
  return ReallocMoving(block, mi_usable_size(block), size_bytes);
}

// Decides as mi_realloc() does: a block stays where the new size fills half of it.
inline void* Realloc(void* block, size_t size_bytes) {
  if (__builtin_expect(block == nullptr, 0)) return Malloc(size_bytes);
  if (__builtin_expect(MayBeMapped(block), 0)) return ReallocateHigh(block, size_bytes);
  const mi_page_t* page = _mi_segment_page_of(_mi_ptr_segment(block), block);
  const size_t block_bytes = page->xblock_size;
  const bool plain = !page->flags.x.has_aligned && block_bytes < MI_HUGE_BLOCK_SIZE;
  if (__builtin_expect(!plain, 0)) return ReallocSpecial(block, size_bytes);
  const bool fits = size_bytes <= block_bytes && size_bytes >= block_bytes / 2 && size_bytes > 0;
  return fits ? block : ReallocMoving(block, block_bytes, size_bytes);
}

// mi_malloc_aligned() is not used: version 2.0.9 believes that blocks of a power of two up to 1024
// bytes are aligned to their size, but their pages start at an odd multiple of 128.
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  if (__builtin_expect(size_bytes <= MI_SMALL_SIZE_MAX, 1)) {
    mi_page_t* page = SmallPage(mi_get_default_heap(), size_bytes);
    mi_block_t* block = page->free;
    const bool aligned = (reinterpret_cast<uintptr_t>(block) & (alignment_bytes - 1)) == 0;
    if (__builtin_expect(block != nullptr && aligned, 1)) return Pop(page, block);
  }
  if (__builtin_expect(size_bytes > kLargestUnmappedBytes, 0)) {
    return AllocateMapped(alignment_bytes, size_bytes);
  }
  return mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
}
inline size_t UsableSize(const void* block) {
  const size_t mapped_bytes = MayBeMapped(block) ? MappedBytes(block) : 0;
  return mapped_bytes != 0 ? mapped_bytes : mi_usable_size(block);
}
inline size_t GoodSize(size_t size_bytes) { return mi_good_size(size_bytes); }
Usage ReadUsage();
void Collect();

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
