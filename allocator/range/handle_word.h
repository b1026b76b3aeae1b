// The word that belongs to a sampled block.  It says whether the block lives, and names its
// entries.
//
// inv.slot.word, see "The sampled range" in README.md: a word goes from free to pending, from
// pending to a handle or back to free, and from a handle to pending.
#ifndef ALLOMON_ALLOCATOR_RANGE_HANDLE_WORD_H_
#define ALLOMON_ALLOCATOR_RANGE_HANDLE_WORD_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"

namespace allomon::internal {

// A value of 1 .. kPending - 1 is the tracker's handle of a live block.  SlotClasses and LargeRuns
// define their own meanings for the numbers outside of that range.
using HandleWord = std::atomic<uint32_t>;

// The slot is allocated, but its block has no handle yet, or has lost its handle.
inline constexpr uint32_t kPending = UINT32_MAX / 2;

// The result of TakeHandle() if there is no live block.
inline constexpr uint32_t kNotAllocated = UINT32_MAX;

inline bool IsHandle(uint32_t word) { return word != 0 && word < kPending; }

// Begins the block's life with this handle.
inline void GiveHandle(HandleWord* word, uint32_t handle) {
  ALLOMON_DCHECK("inv.slot.handle", IsHandle(handle));
  ALLOMON_DCHECK_EQ("inv.slot.word", word->load(std::memory_order_relaxed), kPending);
  word->store(handle, std::memory_order_relaxed);
}

// Ends the block's life for its users, and returns its handle.  The block then belongs to the
// caller, which releases it after the dealloc callbacks have run.  Returns kNotAllocated if there
// is no live block (a double free), or if `word` is nullptr (no block starts at the pointer).  If
// two threads free a block, only one gets the handle.
inline uint32_t TakeHandle(HandleWord* word) {
  if (word == nullptr) return kNotAllocated;
  uint32_t handle = word->load(std::memory_order_relaxed);
  if (!IsHandle(handle)) return kNotAllocated;
  const bool taken = word->compare_exchange_strong(handle, kPending, std::memory_order_relaxed);
  return taken ? handle : kNotAllocated;
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_HANDLE_WORD_H_
