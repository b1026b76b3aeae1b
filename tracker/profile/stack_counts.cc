#include "tracker/profile/stack_counts.h"

namespace allomon::internal {

std::atomic<uint64_t>& StackCounts::ReserveSlow(uint32_t stack) {
  return stack != 0 && counts_.Reserve(stack) ? counts_.At(stack) : elsewhere_;
}

void StackCounts::Clear() {
  elsewhere_.store(0, std::memory_order_relaxed);
  for (size_t first = 0; first < kSegmentStacks * kSegments; first += kSegmentStacks) {
    std::atomic<uint64_t>* segment = counts_.Find(first);
    for (size_t i = 0; segment != nullptr && i < kSegmentStacks; ++i) {
      segment[i].store(0, std::memory_order_relaxed);
    }
  }
}

void StackCounts::ForEach(const Visitor& visit) const {
  const uint64_t elsewhere = elsewhere_.load(std::memory_order_relaxed);
  if (elsewhere != 0) visit(0, elsewhere);
  for (size_t first = 0; first < kSegmentStacks * kSegments; first += kSegmentStacks) {
    const std::atomic<uint64_t>* segment = counts_.Find(first);
    for (size_t i = 0; segment != nullptr && i < kSegmentStacks; ++i) {
      const uint64_t amount = segment[i].load(std::memory_order_relaxed);
      if (amount != 0) visit(static_cast<uint32_t>(first + i), amount);
    }
  }
}

}  // namespace allomon::internal
