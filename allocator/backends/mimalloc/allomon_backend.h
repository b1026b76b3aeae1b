// The backend interface over mimalloc, with inline hot paths for known versions.
//
// mimalloc exports functions only, and a call and a jump per operation cost more than sampling
// does.  So for versions 2.0.9 and 3.0.1 the common case is done on mimalloc's own structures
// (inline_paths.h; version_2.h and version_3.h describe the layout of each).  Other versions are
// used through their public functions only (public_paths.h), which is a little slower.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "allocator/backends/heap_usage.h"
#include "mapped_block.h"
#include "mimalloc_version.h"
#include "zeroed_block.h"

namespace allomon::backend {

inline constexpr const char* kName = "mimalloc";

// Allocates blocks larger than kLargestUnmappedBytes.  mimalloc serves them if mappings lie below
// 64 TiB.
void* AllocateMapped(size_t alignment_bytes, size_t size_bytes);
void* ReallocateHigh(void* block, size_t size_bytes);
void FreeHigh(void* block);
// Frees a block off the fast path: of another thread, or of a page that is full or flagged.
void FreeRare(void* block);

#if ALLOMON_MIMALLOC_IS_INLINED && MI_MALLOC_VERSION == 209
#define ALLOMON_BACKEND_READS_PAGES 1
// Counts the pages of all threads while they run, in `room` for a segment's header, of 8-byte
// words.  Returns false if the process's files cannot be read.  May be called inside malloc: it
// takes no lock, and allocates and maps nothing.  Cost: a system call for each 32 MiB of the heap,
// and a look at each line of /proc/self/maps.
bool ReadPageUsage(void* room, size_t room_bytes, PageUsage* usage);
#endif

// In-place samples are ordinary blocks, and their death is reported.  A flag of such a block's page
// leads each free of the page to FreeRare().
#define ALLOMON_BACKEND_FOLLOWS_IN_PLACE 1
struct InPlaceListener {
  void (*ended)(uint32_t handle);  // called once, before the block's memory is free
  void (*freed_twice)();           // the second free was ignored
};
// Sets the listener, which must live for ever, before blocks are entered.  Returns false if this
// version of mimalloc has no such pages.
bool ListenInPlace(const InPlaceListener* listener);
// Begins to follow a block that the calling thread has just allocated.  Returns false if it cannot
// be followed: the table has no room, or the block shares no page with others.
bool EnterInPlace(const void* block);
// Sets the handle of a block that was entered; 0 ends the following, without a call of `ended`.
void FollowInPlace(const void* block, uint32_t handle);
bool IsFollowedInPlace(const void* block);
// calloc for sizes above mimalloc's small blocks.
void* CallocLarge(size_t size_bytes);

}  // namespace allomon::backend

#if ALLOMON_MIMALLOC_IS_INLINED
#include "inline_paths.h"
#else
#include "public_paths.h"
#endif

namespace allomon::backend {

inline size_t UsableSize(const void* block) {
  const size_t mapped_bytes = MayBeMapped(block) ? MappedBytes(block) : 0;
  return mapped_bytes != 0 ? mapped_bytes : mi_usable_size(block);
}
inline size_t GoodSize(size_t size_bytes) { return mi_good_size(size_bytes); }
Usage ReadUsage();
void Collect();

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ALLOMON_BACKEND_H_
