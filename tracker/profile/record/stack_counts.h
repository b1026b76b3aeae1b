// Amounts by interned call stack, for programs that do not name their functions.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_STACK_COUNTS_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_STACK_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "tracker/base/own_memory.h"

namespace allomon::internal {

// Lock free; Add() is async-signal-safe and may be called inside malloc.
class StackCounts {
 public:
  using Visitor = std::function<void(uint32_t, uint64_t)>;

  // Stacks for which there is no memory, and ids beyond sixteen million, count as stack 0.
  void Add(uint32_t stack, uint64_t amount) {
    std::atomic<uint64_t>* count = stack != 0 ? counts_.Find(stack) : nullptr;
    if (__builtin_expect(count == nullptr, 0)) count = &ReserveSlow(stack);
    count->fetch_add(amount, std::memory_order_relaxed);
  }

  void Clear();

  // Calls visit(stack, amount) for every stack that has an amount, in the order of the ids.
  void ForEach(const Visitor& visit) const;

 private:
  std::atomic<uint64_t>& ReserveSlow(uint32_t stack);

  static constexpr size_t kSegmentStacks = 4096;
  static constexpr size_t kSegments = 4096;

  template <typename Visit>
  void ForEachCount(Visit visit) const;

  std::atomic<uint64_t> elsewhere_{0};
  SegmentedArray<std::atomic<uint64_t>, kSegmentStacks, kSegments> counts_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_STACK_COUNTS_H_
