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

#if MI_TSAN || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the page's flags are the low bits of one byte"
#endif

// A bit of the page's flags that mimalloc neither reads nor sets.  With it, as with each of
// mimalloc's own two, frees of the page's blocks leave the fast path.  mimalloc clears it with the
// page's end.
inline constexpr uint8_t kHoldsInPlace = 1 << 2;
// mimalloc's flag of a page that is in the list of full ones.
inline constexpr uint8_t kInFull = 1 << 0;

// Only the owner of the page may set and clear the flag.
inline void FlagInPlace(mi_page_t* page) { page->flags.full_aligned |= kHoldsInPlace; }
inline void UnflagInPlace(mi_page_t* page) {
  page->flags.full_aligned &= static_cast<uint8_t>(~kHoldsInPlace);
}
inline bool IsFlaggedInPlace(const mi_page_t* page) {
  return (page->flags.full_aligned & kHoldsInPlace) != 0;
}
// Whether the page is this thread's, and has that flag only: it is not full, and each block begins
// where the program's pointer says.
inline bool IsOwnWithInPlace(const mi_page_t* page, const void* block) {
  return _mi_ptr_segment(block)->thread_id.load(std::memory_order_relaxed) == _mi_thread_id() &&
         page->flags.full_aligned == kHoldsInPlace;
}
inline void* StartWithInPlace(const mi_page_t* /*page*/, void* block) { return block; }

// Whether more must be known about a block of the page than BlockBytes(): aligned or huge ones are
// among them, or ones that are followed in place.
inline bool HasSpecialBlocks(const mi_page_t* page) {
  return (page->flags.full_aligned & ~kInFull) != 0 || page->xblock_size >= MI_HUGE_BLOCK_SIZE;
}

// Pages of hugetlbfs, which MIMALLOC_LARGE_OS_PAGES requests, can be given back only as a whole.
inline bool HasOrdinaryPages(const void* block) {
  const mi_segment_t* segment = _mi_ptr_segment(block);
  return !segment->mem_is_large && !segment->mem_is_pinned;
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_2_H_
