// The fast paths of the sampling allocator, inline: the code that malloc and free execute for a
// block that is not sampled.  benchmarks/golden holds their instruction counts.
//
// malloc adds a subtraction of the words and a branch to the backend's own path.  free adds a
// comparison of the pointer and a branch.
#ifndef ALLOMON_ALLOCATOR_ALLOC_PATH_H_
#define ALLOMON_ALLOCATOR_ALLOC_PATH_H_

#include <cstddef>
#include <cstdint>

#include "allocator/host/entry_point.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/sampled_block.h"
#include "allomon_backend.h"
#include "tracker/base/words.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// Returns the trials of a block: its words, rounded up, and one for the header.  The sum wraps only
// for a size that is too large to be allocated anyway.
inline uint64_t TrialWordsOf(size_t size_bytes) { return WordsWithHeaderFast(size_bytes); }

__attribute__((always_inline)) inline void* AllocateFast(size_t size_bytes,
                                                         EntryPoint entry = EntryPoint::kMalloc) {
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    return AllocateSlow(size_bytes, entry);
  }
#ifdef ALLOMON_BACKEND_IS_THE_HOSTS
  if (entry != EntryPoint::kMalloc) return backend::NewMalloc(size_bytes);
#endif
  return backend::Malloc(size_bytes);
}

__attribute__((always_inline)) inline void FreeFast(void* block,
                                                    EntryPoint entry = EntryPoint::kMalloc,
                                                    size_t size_bytes = kUnknownSize) {
  if (__builtin_expect(IsSuspect(block, free_suspects_from), 0)) {
    return FreeHighSlow(block, size_bytes, entry);
  }
  backend::Free(block);
}

__attribute__((always_inline)) inline void* AllocateZeroedFast(size_t size_bytes) {
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    return AllocateZeroedSlow(size_bytes);
  }
  return backend::Calloc(size_bytes);
}

// `alignment_bytes` is a power of two.
__attribute__((always_inline)) inline void* AllocateAlignedFast(
    size_t alignment_bytes, size_t size_bytes, EntryPoint entry = EntryPoint::kMalloc) {
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    return AllocateAlignedSlow(alignment_bytes, size_bytes, entry);
  }
  return backend::Aligned(alignment_bytes, size_bytes);
}

// `block` is not nullptr.
__attribute__((always_inline)) inline void* ReallocateFast(void* block, size_t size_bytes) {
  if (__builtin_expect(IsSuspect(block, free_suspects_from), 0)) {
    return ReallocateHighSlow(block, size_bytes);
  }
  if (__builtin_expect(heap_client::CountDown(TrialWordsOf(size_bytes)), 0)) {
    return ReallocateSlow(block, size_bytes);
  }
  return backend::Realloc(block, size_bytes);
}

// Takes any pointer; 0 for nullptr.
__attribute__((always_inline)) inline size_t UsableSizeOf(const void* block) {
  if (__builtin_expect(IsSuspect(block, free_suspects_from), 0)) return UsableSizeOfHighSlow(block);
  return block == nullptr ? 0 : backend::UsableSize(block);
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ALLOC_PATH_H_
