// The backend interface over mimalloc 2.0.9, with its two hot paths inline.
//
// mimalloc exports functions only; a call and a jump per operation cost more than
// sampling does.  So Malloc and Free below do the common case on mimalloc's own
// structures (see mimalloc-types.h: a page's free list, the segment of an address) and
// hand everything else to the library.  They hold for release settings (no padding, no
// encoded lists, no statistics), which tools/workspace/mimalloc.BUILD sets and the
// checks below enforce.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>

// mimalloc.h first: the internal header does not include it.  That one is of a library which
// is compiled as C, and includes <atomic> and <thread>, which are not.
// clang-format off
#include "mimalloc.h"
extern "C" {
#include "mimalloc-internal.h"
}
// clang-format on

#if MI_MALLOC_VERSION != 209
#error "the inline paths mirror mimalloc 2.0.9; ./bazelw fetches it"
#endif
#if MI_PADDING || MI_SECURE || MI_DEBUG || MI_STAT || defined(MI_ENCODE_FREELIST)
#error "the inline paths hold for mimalloc's release settings only"
#endif

// Its C side declares them _Atomic.
static_assert(sizeof(std::atomic<uintptr_t>) == sizeof(uintptr_t) &&
                  alignof(std::atomic<uintptr_t>) == alignof(uintptr_t),
              "atomic words have one layout in both languages");

namespace allomon::backend {

inline constexpr const char* kName = "mimalloc";

// Refusing a size beyond PTRDIFF_MAX, mimalloc leaves errno alone.
__attribute__((noinline)) inline void* MallocLarge(size_t size_bytes) {
  void* block = mi_malloc(size_bytes);
  if (__builtin_expect(block == nullptr, 0)) errno = ENOMEM;
  return block;
}

inline void* Malloc(size_t size_bytes) {
  if (__builtin_expect(size_bytes > MI_SMALL_SIZE_MAX, 0)) return MallocLarge(size_bytes);
  // The number of words is written as one more than is needed, less one: the countdown
  // has computed it with the header word already, and the compiler shares it.
  const size_t words = (size_bytes + 15) / 8 - 1;
  mi_heap_t* heap = mi_get_default_heap();
  mi_page_t* page = heap->pages_free_direct[words];
  mi_block_t* block = page->free;
  if (__builtin_expect(block == nullptr, 0)) {
    return _mi_malloc_generic(heap, size_bytes, false, 0);
  }
  page->used++;
  page->free = reinterpret_cast<mi_block_t*>(block->next);
  return block;
}

inline void Free(void* block) {
  // For nullptr the segment lies at the top of the address space, so test it first.
  if (__builtin_expect(block == nullptr, 0)) return;
  mi_segment_t* segment = _mi_ptr_segment(block);
  mi_page_t* page = _mi_segment_page_of(segment, block);
  const bool own = segment->thread_id.load(std::memory_order_relaxed) == _mi_thread_id();
  // Not _mi_free_generic(), which is what it comes to: that wants these in registers that the
  // common case would have to copy them to.
  if (__builtin_expect(!own || page->flags.full_aligned != 0, 0)) return mi_free(block);
  mi_block_t* freed = static_cast<mi_block_t*>(block);
  freed->next = reinterpret_cast<mi_encoded_t>(page->local_free);
  page->local_free = freed;
  if (__builtin_expect(--page->used == 0, 0)) _mi_page_retire(page);
}

inline void* Calloc(size_t size_bytes) { return mi_zalloc(size_bytes); }
inline void* Realloc(void* block, size_t size_bytes) { return mi_realloc(block, size_bytes); }
// Not mi_malloc_aligned: 2.0.9 believes that blocks of a power of two up to 1024 bytes are
// aligned to their size, but their pages start at an odd multiple of 128.
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  return mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
}
inline size_t UsableSize(const void* block) { return mi_usable_size(block); }
inline size_t GoodSize(size_t size_bytes) { return mi_good_size(size_bytes); }

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
