// The books of a counting (allomon/counting.h): what one thread allocated, by call stack, and what
// of that still lives.
//
// One thread enters blocks; any thread takes them out.  Nothing here locks or allocates after the
// construction.
#ifndef ALLOMON_TRACKER_C_COUNTED_STACKS_H_
#define ALLOMON_TRACKER_C_COUNTED_STACKS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "allomon/counting.h"
#include "tracker/allocation.h"

namespace allomon::c {

// What is added up.  Entering is one thread's, so its two sums need no locked instruction.
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
  Callstack callstack;  // empty: a free place, or that of all stacks without one
  CountedBlocks blocks;
};

class CountedStacks {
 public:
  // Enters a block, and returns where its end is to be told.  The counting thread.
  CountedStack* Enter(const Allocation& allocation);
  void Leave(CountedStack* stack, uint64_t size_bytes);

  // Any thread; the fields one by one.
  allomon_allocation_totals Totals() const;

  // Calls `each` until it answers other than 0.  When nothing enters any more.
  void ForEach(int32_t (*each)(void* user, const allomon_counted_stack* stack), void* user) const;

 private:
  // A power of two, as the probing needs.  64 bytes each: 256 KiB.
  static constexpr uint32_t kPlaces = 4096;
  // Beyond as many stacks, a search would take long.
  static constexpr uint32_t kMostStacks = kPlaces - kPlaces / 8;

  CountedStack* PlaceOf(const Callstack& callstack);

  CountedBlocks all_;
  std::atomic<uint64_t> peak_bytes_{0};
  uint32_t stacks_ = 0;
  CountedStack rest_;  // of stacks without a place, and of the empty one
  std::array<CountedStack, kPlaces> places_;
};

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_COUNTED_STACKS_H_
