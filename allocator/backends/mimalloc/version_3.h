// mimalloc 3.0.1: blocks lie in pages, which a table finds by the block's address (the page map); a
// page's first word is its thread and its flags.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_3_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_3_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

// The internal headers belong to a library that is compiled as C, so they are extern "C" here.
// <atomic>, <mutex> and <thread>, which they include, must not be.
// clang-format off
#include "mimalloc.h"
extern "C" {
#include "mimalloc/internal.h"
#include "mimalloc/prim.h"
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

#if MI_PAGE_MAP_FLAT
#error "the inline paths hold for the page map of two levels only"
#endif

// Above this size mimalloc clears every byte, whether fresh or not.
inline constexpr size_t kLargestZeroedByMimalloc = MI_LARGE_MAX_OBJ_SIZE;

inline mi_heap_t* ThreadHeap() { return mi_prim_get_default_heap(); }

// PageOf(nullptr) is an empty page that no thread owns.
inline constexpr bool kNullHasPage = true;
inline mi_page_t* PageOf(const void* block) { return _mi_unchecked_ptr_page(block); }

// Whether the block belongs to this thread, in a page that is neither full nor has aligned blocks:
// the flags are the low bits of the thread's word.
inline bool IsPlainAndOwn(const mi_page_t* page, const void* /*block*/) {
  return page->xthread_id.load(std::memory_order_relaxed) == _mi_prim_thread_id();
}

inline size_t BlockBytes(const mi_page_t* page) { return page->block_size; }
inline bool IsFresh(const mi_page_t* page) { return page->free_is_zero; }

// Whether more must be known about a block of the page than BlockBytes(): aligned ones are among
// them, or ones that are followed in place.
inline bool HasSpecialBlocks(const mi_page_t* page) {
  return (page->xthread_id.load(std::memory_order_relaxed) & MI_PAGE_HAS_ALIGNED) != 0;
}

// A page with blocks in place has the flag of aligned blocks, since there is no other bit. mimalloc
// clears it when the page has no live block.  Only the owner of the page may set it.
inline void FlagInPlace(mi_page_t* page) { mi_page_set_has_aligned(page, true); }
inline void UnflagInPlace(mi_page_t* /*page*/) {}
inline bool IsFlaggedInPlace(const mi_page_t* page) { return HasSpecialBlocks(page); }
// Whether the page is this thread's, and has that flag only: it is not full.
inline bool IsOwnWithInPlace(const mi_page_t* page, const void* /*block*/) {
  return page->xthread_id.load(std::memory_order_relaxed) ==
         (_mi_prim_thread_id() | MI_PAGE_HAS_ALIGNED);
}
inline void* StartWithInPlace(const mi_page_t* page, void* block) {
  return _mi_page_ptr_unalign(page, block);
}

// Pages of hugetlbfs, which MIMALLOC_ALLOW_LARGE_OS_PAGES requests, can be given back only as a
// whole.
inline bool HasOrdinaryPages(const void* block) { return !PageOf(block)->memid.is_pinned; }

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_VERSION_3_H_
