// The rare paths of the allocator, kept out of line.  They are taken when the countdown has gone
// below zero, or when a pointer may be a sampled block.
//
// All functions are thread safe, preserve errno unless they fail, and run the user's callbacks.
#ifndef ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_
#define ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/host/entry_point.h"

namespace allomon::internal {

// Called by a thread after it has decremented its countdown below zero.
ALLOMON_MALLOC_SLOW void* AllocateSlow(size_t size_bytes, EntryPoint entry);
ALLOMON_MALLOC_SLOW void* AllocateZeroedSlow(size_t size_bytes);
ALLOMON_MALLOC_SLOW void* AllocateAlignedSlow(size_t alignment_bytes, size_t size_bytes,
                                              EntryPoint entry);
ALLOMON_MALLOC_SLOW void* ReallocateSlow(void* block, size_t size_bytes);

// Called for a suspect pointer (malloc_owner.h), before the countdown is touched.  `size_bytes` is
// the size that sized delete names, or kUnknownSize.
ALLOMON_MALLOC_SLOW void FreeHighSlow(void* block, size_t size_bytes, EntryPoint entry);
ALLOMON_MALLOC_SLOW void* ReallocateHighSlow(void* block, size_t size_bytes);

// Takes any suspect pointer.
size_t UsableSizeOfHighSlow(const void* block);

// Returns the number of second frees of sampled blocks.  Each of them was ignored.
uint64_t DoubleFrees();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_
