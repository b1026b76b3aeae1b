// Memory for the first blocks that the preloaded library's own code takes by operator new.
//
// The start of a profile or a recording takes dozens of blocks of a dozen sizes.  The backend takes
// two fresh pages for each class of sizes, and 32 MiB of addresses for the first block of all; here
// the blocks are adjacent.  The room is a global object: its blocks are no part of the program's
// heap, and no leak of it.  They are used up by the start of the program, or some time later.
//
// Any thread, also inside malloc; no lock.  Cost: a load and a comparison once the room is used up.
#ifndef ALLOMON_ALLOCATOR_HOST_START_ROOM_H_
#define ALLOMON_ALLOCATOR_HOST_START_ROOM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

inline constexpr size_t kStartRoomBytes = size_t{128} << 10;

extern char start_room[kStartRoomBytes];
extern std::atomic<size_t> start_room_used_bytes;

void* TakeFromStartRoomSlow(size_t size_bytes, size_t alignment_bytes);

// Returns a block that the caller owns, of at least the alignment of operator new; nullptr if the
// room has no place for it.  `alignment_bytes` is a power of two.
inline void* TakeFromStartRoom(size_t size_bytes, size_t alignment_bytes) {
  if (start_room_used_bytes.load(std::memory_order_relaxed) == kStartRoomBytes) return nullptr;
  return TakeFromStartRoomSlow(size_bytes, alignment_bytes);
}

inline bool IsInStartRoom(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(start_room) <
         kStartRoomBytes;
}

// Ends a block.  Its bytes are taken again only if it was the last one and `size_bytes` is its size
// as it was taken; 0: the size is not known.
void ReleaseToStartRoom(void* block, size_t size_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_START_ROOM_H_
