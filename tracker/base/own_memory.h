// The tracker's own memory: mapped from the kernel, never taken from malloc, within a budget.
// Entries, call stacks, queues and indexes live here, so that the tracker can run inside malloc and
// never changes the layout of the heap that it watches.
//
// Thread safe, lock free, async-signal-safe; never throws.  A refused request returns nullptr and
// the caller drops its sample and counts the drop.
#ifndef ALLOMON_TRACKER_BASE_OWN_MEMORY_H_
#define ALLOMON_TRACKER_BASE_OWN_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Bytes of own memory that may be mapped at once.  1 GiB holds ten million live samples; a program
// that needs more has a sampling rate that is too high.
inline constexpr size_t kDefaultOwnMemoryBudgetBytes = size_t{1} << 30;

class OwnMemory {
 public:
  // Zero-filled pages, or nullptr past the budget or when the kernel refuses.  `size_bytes` is
  // rounded up to whole pages.
  static void* Map(size_t size_bytes);
  // The same for memory that will be touched everywhere, in no order: whole pages of 2 MiB.  When
  // all of it is in use, MakeDense() tells the kernel to join them in the background, so that
  // look-ups do not also miss the address cache.  If it were called earlier, one touch would clear
  // 2 MiB in the middle of a malloc: 0.13 ms, and 5 ms in a virtual machine that has no such page
  // yet.
  static void* MapForDense(size_t size_bytes);
  static void MakeDense(void* pages, size_t size_bytes);
  // Only for memory that is guarded by a lock.  Memory that is published without a lock is never
  // unmapped.
  static void Unmap(void* pages, size_t size_bytes);

  static size_t mapped_bytes() { return mapped_bytes_.load(std::memory_order_relaxed); }
  static void SetBudgetBytes(size_t budget_bytes);

 private:
  static void* MapWithinBudget(size_t size_bytes, void* (*map)(size_t));

  static std::atomic<size_t> mapped_bytes_;
  static std::atomic<size_t> budget_bytes_;
};

// Hands out pieces of mapped chunks and never takes one back.  Pieces are 8-aligned and
// zero-filled.  A 32-bit reference identifies a piece, so that tables are half as large as with
// pointers.
//
// Thread safe, lock free.  Cost: one compare-exchange; a page fault for each fresh page.
class BumpArena {
 public:
  using Ref = uint32_t;  // in units of 8 bytes; 0 is "none"

  // Returns 0 if own memory is exhausted or `size_bytes` exceeds kChunkBytes.
  Ref Allocate(size_t size_bytes);
  void* At(Ref ref) const;

  static constexpr size_t kChunkBytes = size_t{1} << 18;

 private:
  static constexpr size_t kChunks = 4096;  // 1 GiB in all
  // Chunks from this one on are mapped several at once, which makes a page of 2 MiB.
  static constexpr size_t kFirstDenseChunk = 16;
  static constexpr size_t kDenseChunks = 8;

  bool EnsureChunk(size_t index);
  void MapDenseChunks(size_t first);
  void AddChunk(size_t index, char* memory);

  // The next free byte, counted over all chunks.  Starts at 8 so that 0 is free to mark a missing
  // piece.
  std::atomic<uint64_t> next_byte_{8};
  std::atomic<char*> chunks_[kChunks] = {};
};

// An array that grows by mapping and whose elements never move.  T must be valid when all its bytes
// are zero.  At() may be called for any index that Reserve() has accepted.
template <typename T, size_t kSegmentElements, size_t kSegments>
class SegmentedArray {
 public:
  static constexpr size_t kCapacity = kSegmentElements * kSegments;

  // Makes element `index` addressable; false when own memory is exhausted.
  bool Reserve(size_t index) {
    if (index >= kCapacity) return false;
    std::atomic<T*>& segment = segments_[index / kSegmentElements];
    // Pairs with the release in MapSegmentSlow(): the segment is mapped.
    return segment.load(std::memory_order_acquire) != nullptr || MapSegmentSlow(segment);
  }

  T& At(size_t index) const {
    // Acquire pairs with the release in MapSegmentSlow.
    T* segment = segments_[index / kSegmentElements].load(std::memory_order_acquire);
    return segment[index % kSegmentElements];
  }

  // nullptr for an index that was never reserved.
  T* Find(size_t index) const {
    if (index >= kCapacity) return nullptr;
    T* segment = segments_[index / kSegmentElements].load(std::memory_order_acquire);
    return segment == nullptr ? nullptr : &segment[index % kSegmentElements];
  }

 private:
  // Two threads may map the same segment.  The loser's pages stay untouched, so they cost address
  // space alone.
  bool MapSegmentSlow(std::atomic<T*>& segment) {
    T* fresh = static_cast<T*>(OwnMemory::Map(sizeof(T) * kSegmentElements));
    if (fresh == nullptr) return false;
    T* expected = nullptr;
    // Release pairs with the acquire in Reserve() and At().
    segment.compare_exchange_strong(expected, fresh, std::memory_order_release,
                                    std::memory_order_relaxed);
    return true;
  }

  std::atomic<T*> segments_[kSegments] = {};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_OWN_MEMORY_H_
