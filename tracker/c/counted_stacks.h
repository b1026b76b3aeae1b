// The counts of a counting (allomon/counting.h): one thread's allocations by call stack, and their
// part that is still live.
//
// One thread enters blocks; any thread removes them.  Nothing here locks or allocates after
// construction.
#ifndef ALLOMON_TRACKER_C_COUNTED_STACKS_H_
#define ALLOMON_TRACKER_C_COUNTED_STACKS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "allomon/counting.h"
#include "tracker/allocation.h"

namespace allomon::c {

// Sums of blocks and bytes.  Only one thread enters, so the two sums of entries need no locked
// instruction.
class CountedBlocks {
 public:
  // Returns the bytes that live then.
  uint64_t Enter(uint64_t size_bytes);
  void Leave(uint64_t size_bytes);

  uint64_t blocks() const { return blocks_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t live_blocks() const { return live_blocks_.load(std::memory_order_relaxed); }
  uint64_t live_bytes() const { return live_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> blocks_{0}, bytes_{0}, live_blocks_{0}, live_bytes_{0};
};

struct CountedStack {
  Callstack callstack;  // empty: a free place, or the rest's
  CountedBlocks blocks;
};

class CountedStacks {
 public:
  // Enters a block, and returns the object to pass to Leave() at its end.  Called by the counting
  // thread.
  CountedStack* Enter(const Allocation& allocation);
  void Leave(CountedStack* stack, uint64_t size_bytes);

  // Any thread; the fields one by one.
  allomon_allocation_totals Totals() const;

  // Calls `each` until it returns a value other than 0.  Call it when nothing is entered any more.
  void ForEach(int32_t (*each)(void* user, const allomon_counted_stack* stack), void* user) const;

 private:
  // A power of two, as the probing needs.  64 bytes each: 256 KiB.
  static constexpr uint32_t kPlaces = 4096;
  // The maximum number of stacks; with more, a search would take long.
  static constexpr uint32_t kMostStacks = kPlaces - kPlaces / 8;

  CountedStack* PlaceOf(const Callstack& callstack);

  CountedBlocks all_;
  std::atomic<uint64_t> peak_bytes_{0};
  uint32_t stacks_ = 0;
  CountedStack rest_;  // of stacks without a place, and of the empty stack
  std::array<CountedStack, kPlaces> places_;
};

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_COUNTED_STACKS_H_
