#include "allocator/host/start_room.h"

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"

namespace allomon::internal {

alignas(64) ALLOMON_LARGE_ZEROS char start_room[kStartRoomBytes];
std::atomic<size_t> start_room_used_bytes{0};

namespace {

constexpr size_t kLeastAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr size_t kMostAlignment = 64;  // the room's own
// Larger ones have pages of their own anyway.
constexpr size_t kMostBlockBytes = kStartRoomBytes / 4;
constexpr size_t kSmallBytes = 256;

// A block of no bytes has an address of its own, too.
size_t TakenBytes(size_t size_bytes) {
  return size_bytes == 0 ? kLeastAlignment
                         : (size_bytes + kLeastAlignment - 1) & ~(kLeastAlignment - 1);
}

}  // namespace

// A room without place for a small block is given up, so that the callers ask no more.
void* TakeFromStartRoomSlow(size_t size_bytes, size_t alignment_bytes) {
  if (size_bytes > kMostBlockBytes || alignment_bytes > kMostAlignment) return nullptr;
  const size_t mask = (alignment_bytes < kLeastAlignment ? kLeastAlignment : alignment_bytes) - 1;
  size_t used = start_room_used_bytes.load(std::memory_order_relaxed);
  size_t begin, end;
  do {
    begin = (used + mask) & ~mask;
    end = begin + TakenBytes(size_bytes);
    if (end > kStartRoomBytes) {
      if (size_bytes <= kSmallBytes) start_room_used_bytes.store(kStartRoomBytes);
      return nullptr;
    }
    // The acquire pairs with the release in ReleaseToStartRoom(): the former owner of these bytes
    // has written its last before the new one writes.
  } while (!start_room_used_bytes.compare_exchange_weak(used, end, std::memory_order_acquire,
                                                        std::memory_order_relaxed));
  ALLOMON_DCHECK("inv.start.room", begin >= used && IsInStartRoom(start_room + end - 1));
  return start_room + begin;
}

// No other thread can end the room at the end of its last block, so the exchange succeeds unless
// another block has been taken since.
void ReleaseToStartRoom(void* block, size_t size_bytes) {
  if (size_bytes == 0) return;
  const size_t begin = static_cast<size_t>(static_cast<char*>(block) - start_room);
  size_t end = begin + TakenBytes(size_bytes);
  // The release pairs with the acquire in TakeFromStartRoomSlow().
  start_room_used_bytes.compare_exchange_strong(end, begin, std::memory_order_release,
                                                std::memory_order_relaxed);
}

}  // namespace allomon::internal
