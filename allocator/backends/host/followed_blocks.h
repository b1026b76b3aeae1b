// Followed blocks that are ordinary blocks of the program's own malloc: a table from their
// addresses to their handles, if the program's executable defines malloc
// (allocator/host/program_malloc.h).  Such blocks lie anywhere, so each allocation and each free
// asks for its address.
//
// A word of the filter counts the followed blocks of its hash: most questions read one word.  The
// table has four levels, each eight times as large as the one before, and mapped when a bucket of
// all those before it is full: 16 million blocks in all.
//
// Thread safe, without a lock.  A cell belongs to the block in it; another thread frees the block
// only after it was handed over.  May be called inside malloc and in signal handlers; allocates
// nothing but mappings, which stay.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_HOST_FOLLOWED_BLOCKS_H_
#define ALLOMON_ALLOCATOR_BACKENDS_HOST_FOLLOWED_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::backend {

inline constexpr int kFollowedFilterBits = 18;
extern std::atomic<uint32_t> followed_filter[size_t{1} << kFollowedFilterBits]
    __attribute__((visibility("hidden")));

// Blocks begin at multiples of 8.
inline uint64_t HashOfBlock(const void* block) {
  return (reinterpret_cast<uintptr_t>(block) >> 3) * 0x9E3779B97F4A7C15;
}

// Whether the block is perhaps in the table.  Takes any pointer.  Cost: a multiplication, a load
// and a comparison.
inline bool MayBeFollowed(const void* block) {
  return followed_filter[HashOfBlock(block) >> (64 - kFollowedFilterBits)].load(
             std::memory_order_relaxed) != 0;
}

// Adds a block of the calling thread that is not in the table, without a handle.  Returns false if
// the table has no room, or there is no memory for a level.  Cost: a look into up to four buckets
// of 128 bytes; a system call for the first block of a level.
bool EnterFollowed(const void* block);

// Sets the handle of a block that the calling thread has entered; it is not 0.  Returns false if
// the block is not there: a callback, or a second free of its address, has removed it.
bool SetHandleOfFollowed(const void* block, uint32_t handle);

// Removes the block and returns its handle; 0 if it is not there, or has no handle.  Takes any
// pointer.  Of several threads that free one block at once, one gets the handle.
uint32_t LeaveFollowed(const void* block);

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_HOST_FOLLOWED_BLOCKS_H_
