// The address range that sampled blocks live in.  With one range, free learns from the pointer
// alone that a block was not sampled.  See "The sampled range" in README.md.
//
// The range lies above 64 TiB, where the backend has only its largest blocks: one comparison of the
// pointer decides (malloc_owner.h).  An exact comparison on the slow path distinguishes the range
// from other memory at such addresses (mappings, another backend's heap).
//
// The range holds small slots, in 64 KiB spans of one size each, and large runs.  Each block has a
// word in a parallel array, which says whether the block lives and names its entries.  The
// allocator never stores its own data in a block, so a write through a stale pointer cannot break
// it.
//
// Thread safe.  May be called inside malloc and free, never calls them, never throws.
#ifndef ALLOMON_ALLOCATOR_RANGE_SAMPLED_RANGE_H_
#define ALLOMON_ALLOCATOR_RANGE_SAMPLED_RANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/host/high_reservation.h"
#include "allocator/range/large_runs.h"
#include "allocator/range/slot_classes.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/formats/process_map.h"

namespace allomon::internal {

class SampledRange {
 public:
  // Whether the pointer has the high bit.  False for every block outside the range, except for the
  // few blocks with such high addresses.  Cost: two instructions.
  static bool MayContain(const void* block) {
    return (reinterpret_cast<uintptr_t>(block) >> kHighBit & 1) != 0;
  }

  // Whether the pointer lies in the range, exactly.  False before the first sample.  Cost: a load
  // and a comparison.
  bool Contains(const void* block) const {
    return reinterpret_cast<uintptr_t>(block) - base_.load(std::memory_order_acquire) <
           size_bytes_.load(std::memory_order_relaxed);
  }

  // Returns a block whose word is kPending, and that word; nullptr when the range or the block's
  // class is full.  The first call chooses the range's place.  *zeroed is set if the memory is
  // known to be zero.  Cost: a pop from a list; a system call and page faults for fresh memory.
  void* Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed, HandleWord** word);

  // The word of a pointer into the range; nullptr if no block starts there.
  HandleWord* Find(const void* block) const {
    return IsLarge(block) ? runs_.Find(block) : slots_.Find(block);
  }
  // The word must be kPending: TakeHandle() has ended the block, or the block never had a handle.
  void Release(const void* block, HandleWord* word);

  // Gives back the free slots that the calling thread caches.  Called by a thread that ends.
  void EmptyCache() { slots_.EmptyCache(); }

  size_t UsableBytes(const void* block) const;

  // The bytes of the live blocks, and of the memory that holds them; 0 without a sample.  Not
  // inside malloc.
  struct Usage {
    size_t used_bytes = 0;
    size_t committed_bytes = 0;
    size_t runs = 0;
    size_t run_bytes = 0;  // not part of the bytes above
  };
  Usage ReadUsage() const;

  // Used by fork, which holds the lock while it copies the process.
  SpinLock& lock() ALLOMON_RETURNS_LOCK(growth_lock_) { return growth_lock_; }

  // Limits the range to `bytes`; with 0 there is no range.  Called before the first sample.
  static void SetMaxReservationForTesting(size_t bytes);

 private:
  bool EnsurePlacedSlow();
  bool PlaceLocked(size_t size_bytes) ALLOMON_REQUIRES(growth_lock_);
  bool IsLarge(const void* block) const { return !slots_.Contains(block); }
  void* AllocatePlaced(size_t size_bytes, size_t alignment_bytes, bool* zeroed, HandleWord** word);

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> size_bytes_{0};
  std::atomic<bool> tried_{false};
  SpinLock growth_lock_;
  SlotClasses slots_{growth_lock_};
  LargeRuns runs_{growth_lock_};
};

// What readers outside of the process need to count the blocks; filled in when the range is placed.
extern process_map::SampledBlocks sampled_blocks __attribute__((visibility("hidden")));

// The one range of the process.
extern SampledRange sampled_range __attribute__((visibility("hidden")));
inline SampledRange& TheSampledRange() { return sampled_range; }

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_SAMPLED_RANGE_H_
