// Blocks that are mappings of their own: all blocks larger than 16 MiB.
//
// mimalloc, too, takes a mapping from the kernel for each of these and gives it back when the block
// is freed, since its cache holds segments of exactly 32 MiB.  So a mapping of our own costs no
// additional system call, and knowledge of the mapping saves other work: a fresh one is zero
// (calloc writes nothing), and mremap() moves its pages instead of a copy by realloc.
// MAP_NORESERVE is not used: the kernel refuses a mapping that it would refuse glibc; with
// MAP_NORESERVE, as mimalloc maps, the process would be killed when it writes.
//
// A table lists these blocks (mapped_table.h).  All of them lie above 64 TiB (bit 46 of their
// addresses is set).  free tests this bit for the sampled range anyway, so it needs no additional
// instruction.
//
// Thread safe; no lock; may be called inside malloc, and in the child of a fork.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace allomon::backend {

// The largest unmapped size is MI_LARGE_OBJ_SIZE_MAX (allomon_backend.h compares them).  A block up
// to this size is a part of a segment, which mimalloc's cache keeps, so one that is allocated and
// freed in a loop costs no system call.
inline constexpr size_t kLargestUnmappedBytes = size_t{16} << 20;

// Whether the block may be a mapping.  False for every other block of mimalloc, except those that
// it had to place at an address of the kernel's choice.
inline bool MayBeMapped(const void* block) {
  return (reinterpret_cast<uintptr_t>(block) >> 46 & 1) != 0;
}

enum class MapResult : uint8_t {
  kMapped,
  kNoMemory,   // the kernel refuses the mapping; errno is ENOMEM
  kMisplaced,  // the kernel puts mappings below 64 TiB (ulimit -s unlimited): no block can be
               // mapped
};

// Maps a zeroed block of more than kLargestUnmappedBytes, aligned to a page or to
// `alignment_bytes`, a power of two.  Cost: one system call, up to four for an alignment larger
// than a page.
MapResult MapBlock(size_t alignment_bytes, size_t size_bytes, void** block);

// Returns the bytes of a mapped block; 0 for every other pointer.  Cost: two loads.
size_t MappedBytes(const void* block);

// Unmaps a mapped block.  For any other pointer returns false and does nothing.
bool UnmapBlock(void* block);

// Resizes a mapped block to more than kLargestUnmappedBytes, in place or by moving its pages; the
// added bytes are zero.  Returns nullptr and leaves the block unchanged if the kernel refuses:
// there is no memory, or the host has changed the protection of a part, so that the block is two
// mappings.
void* RemapBlock(void* block, size_t size_bytes);

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_
