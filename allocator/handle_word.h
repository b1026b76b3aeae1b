// The word beside a sampled block that says whose it is.
#ifndef ALLOMON_ALLOCATOR_HANDLE_WORD_H_
#define ALLOMON_ALLOCATOR_HANDLE_WORD_H_

#include <atomic>
#include <cstdint>

namespace allomon::internal {

// 1 .. kPending - 1 is the tracker's handle of a live block.  What lies outside belongs to
// SlotClasses and LargeRuns.
using HandleWord = std::atomic<uint32_t>;

// Allocated, and not yet or no longer with a handle.
inline constexpr uint32_t kPending = UINT32_MAX / 2;

inline constexpr uint32_t kNotAllocated = UINT32_MAX;

// Ends the block's life as far as users are concerned: returns its handle, and leaves the
// block to the caller, who releases it when the dealloc callbacks have run.  kNotAllocated
// if there is no live block (a double free).  Of two threads that free it, one exchanges.
// nullptr stands for a pointer at which no block starts.
inline uint32_t TakeHandle(HandleWord* word) {
  if (word == nullptr) return kNotAllocated;
  uint32_t handle = word->load(std::memory_order_relaxed);
  if (handle == 0 || handle >= kPending) return kNotAllocated;
  const bool taken = word->compare_exchange_strong(handle, kPending, std::memory_order_relaxed);
  return taken ? handle : kNotAllocated;
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HANDLE_WORD_H_
