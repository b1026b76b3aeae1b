// What the allocator does when the countdown went below zero, or when a pointer may be
// a sampled block: the rare paths, kept out of line.
//
// All of these are thread safe, preserve errno unless they fail, and run the user's
// callbacks.
#ifndef ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_
#define ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/entry_point.h"

// Code in this section is left out of the innermost end of call stacks, so that a stack
// begins with the caller of malloc or of operator new.
#define ALLOMON_MALLOC_SECTION __attribute__((section("allomon_malloc")))
#define ALLOMON_MALLOC_SLOW ALLOMON_MALLOC_SECTION __attribute__((noinline))

namespace allomon::internal {

// The countdown has been decremented and is negative.
ALLOMON_MALLOC_SLOW void* AllocateSlow(size_t size_bytes, EntryPoint entry);
ALLOMON_MALLOC_SLOW void* AllocateZeroedSlow(size_t size_bytes);
ALLOMON_MALLOC_SLOW void* AllocateAlignedSlow(size_t alignment_bytes, size_t size_bytes,
                                              EntryPoint entry);
ALLOMON_MALLOC_SLOW void* ReallocateSlow(void* block, size_t size_bytes);

// The pointer has its high bit set; the countdown has not been touched.  The size is the one
// that sized delete names, or kUnknownSize.
ALLOMON_MALLOC_SLOW void FreeHighSlow(void* block, size_t size_bytes, EntryPoint entry);
ALLOMON_MALLOC_SLOW void* ReallocateHighSlow(void* block, size_t size_bytes);

// Any pointer; 0 for nullptr.
size_t UsableSizeOf(const void* block);

// Sampled blocks that were freed twice: the second free is ignored and counted.
uint64_t DoubleFrees();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_SAMPLED_BLOCK_H_
