// mimalloc 2.0.9: blocks lie in pages, and pages in segments of 32 MiB that describe them.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_2_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_2_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

// mimalloc.h comes first, because the internal header does not include it.  The internal header
// belongs to a library that is compiled as C, so it is extern "C" here.  <atomic> and <thread>,
// which it includes, must not be.
// clang-format off
#include "mimalloc.h"
extern "C" {
#include "mimalloc-internal.h"
}
// clang-format on

#include "mapped_block.h"

// Code for executables reads the thread's heap by one instruction, and loads no offset before.  g++
// takes the model of the last declaration.
#if defined(__PIE__) || !defined(__PIC__)
extern "C" {
extern mi_decl_thread mi_heap_t* _mi_heap_default __attribute__((tls_model("local-exec")));
}
#endif

namespace allomon::backend {

static_assert(kLargestUnmappedBytes == MI_LARGE_OBJ_SIZE_MAX, "parts of a segment, which is kept");

// Up to this size mimalloc clears no more of a block than necessary.
inline constexpr size_t kLargestZeroedByMimalloc = MI_MEDIUM_OBJ_SIZE_MAX;

inline mi_heap_t* ThreadHeap() { return mi_get_default_heap(); }

// Returns the page of a block, which must not be nullptr: the segment of nullptr would lie at the
// top of the address space.
inline constexpr bool kNullHasPage = false;
inline mi_page_t* PageOf(const void* block) {
  return _mi_segment_page_of(_mi_ptr_segment(block), block);
}

// Whether the block belongs to this thread, in a page that is neither full nor has aligned blocks.
inline bool IsPlainAndOwn(const mi_page_t* page, const void* block) {
  const bool own =
      _mi_ptr_segment(block)->thread_id.load(std::memory_order_relaxed) == _mi_thread_id();
  return __builtin_expect(own, 1) && page->flags.full_aligned == 0;
}

inline size_t BlockBytes(const mi_page_t* page) { return page->xblock_size; }
inline bool IsFresh(const mi_page_t* page) { return page->is_zero != 0; }

// Whether mimalloc knows more about the page's blocks than BlockBytes(): aligned or huge ones.
inline bool HasSpecialBlocks(const mi_page_t* page) {
  return page->flags.x.has_aligned || page->xblock_size >= MI_HUGE_BLOCK_SIZE;
}

// Pages of hugetlbfs, which MIMALLOC_LARGE_OS_PAGES requests, can be given back only as a whole.
inline bool HasOrdinaryPages(const void* block) {
  const mi_segment_t* segment = _mi_ptr_segment(block);
  return !segment->mem_is_large && !segment->mem_is_pinned;
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_2_H_
