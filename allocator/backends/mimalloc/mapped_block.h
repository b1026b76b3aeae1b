// Blocks that are mappings of their own: all beyond 16 MiB.
//
// mimalloc, too, takes a mapping from the kernel for each of these and gives it back when the block
// is freed, since its cache holds segments of exactly 32 MiB.  So a mapping of our own costs no
// system call more, and what is known of it saves the rest: a fresh one is zero (calloc writes
// nothing), and mremap() moves its pages where realloc would copy them.  MAP_NORESERVE is not used:
// the kernel refuses what it would refuse glibc, where mimalloc would be killed when it writes.
//
// A table tells these blocks from others (mapped_table.h).  All of them lie above 64 TiB (bit 46 of
// their addresses is set), where free looks for the sampled range, too: it has no instruction more.
//
// Thread safe; no lock; may be called inside malloc, and in the child of a fork.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace allomon::backend {

// MI_LARGE_OBJ_SIZE_MAX: up to it a block is a part of a segment, which mimalloc's cache keeps, so
// one that is allocated and freed in a loop costs no system call.  allomon_backend.h compares them.
inline constexpr size_t kLargestUnmappedBytes = size_t{16} << 20;

// Whether the block may be a mapping.  False for every other block of mimalloc, but for those that
// it had to place where the kernel chose.
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
// `alignment_bytes`, a power of two.  Cost: one system call, up to four for an alignment beyond a
// page.
MapResult MapBlock(size_t alignment_bytes, size_t size_bytes, void** block);

// The bytes of a mapped block; 0 for every other pointer.  Cost: two loads.
size_t MappedBytes(const void* block);

// Unmaps a mapped block; false, and nothing happens, if it is none.
bool UnmapBlock(void* block);

// Gives a mapped block more than kLargestUnmappedBytes, in place or by moving its pages; what it
// grows by is zero.  nullptr if the kernel refuses, and the block is as it was: no memory, or the
// host has changed the protection of a part of it, so that it is two mappings.
void* RemapBlock(void* block, size_t size_bytes);

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_BLOCK_H_
