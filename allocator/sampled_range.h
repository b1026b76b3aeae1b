// Where sampled blocks live: one range of addresses, so that free learns from the pointer
// alone that a block was not sampled.  See "The sampled range" in README.md.
//
// The range lies above 64 TiB, where mimalloc never places a block of its own: one bit
// of the pointer decides.  Other memory up there (mappings, another backend's heap) is
// told apart by an exact comparison on the slow path.
//
// Inside: small slots in 64 KiB spans of one size each, and large runs.  A word per slot
// in a parallel array says whose it is; nothing of ours is ever written into a block, so
// a write through a stale pointer cannot break us.
//
// Thread safe.  May be called inside malloc and free, never calls them, never throws.
#ifndef ALLOMON_ALLOCATOR_SAMPLED_RANGE_H_
#define ALLOMON_ALLOCATOR_SAMPLED_RANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/high_reservation.h"
#include "allocator/large_runs.h"
#include "allocator/slot_classes.h"

namespace allomon::internal {

class SampledRange {
 public:
  // False for every block that is not in the range, but for a few that lie high.  Two
  // instructions.
  static bool MayContain(const void* block) {
    return (reinterpret_cast<uintptr_t>(block) >> kHighBit & 1) != 0;
  }

  // Exact.  Costs a load and a comparison; false before the first sample.
  bool Contains(const void* block) const {
    return reinterpret_cast<uintptr_t>(block) - base_.load(std::memory_order_acquire) <
           size_bytes_.load(std::memory_order_relaxed);
  }

  // A block without handle, and its word; nullptr when the range or its class is full.  Reserves
  // the range at the first call.  *zeroed: the memory is known to be zero.
  // Cost: a pop from a list; a system call and page faults for fresh memory.
  void* Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed, HandleWord** word);

  // The word of a pointer into the range; nullptr if no block starts there.
  HandleWord* Find(const void* block) const {
    return IsLarge(block) ? runs_.Find(block) : slots_.Find(block);
  }
  // After TakeHandle(), or of a block that never had one.
  void Release(const void* block, HandleWord* word);

  // Gives back what the calling thread keeps of free memory: it ends.
  void EmptyCache() { slots_.EmptyCache(); }

  size_t UsableBytes(const void* block) const;

  SpinLock& lock() { return growth_lock_; }

  // Tries smaller ranges than the default; 0 refuses all.  Before the first sample.
  static void SetMaxReservationForTesting(size_t bytes);

 private:
  bool EnsureReservedSlow();
  bool Reserve(size_t size_bytes);
  bool IsLarge(const void* block) const { return !slots_.Contains(block); }

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> size_bytes_{0};
  std::atomic<bool> tried_{false};
  SlotClasses slots_;
  LargeRuns runs_;
  SpinLock growth_lock_;
};

// The one range of the process.
extern SampledRange sampled_range __attribute__((visibility("hidden")));
inline SampledRange& TheSampledRange() { return sampled_range; }

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_SAMPLED_RANGE_H_
