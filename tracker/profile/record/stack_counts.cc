#include "tracker/profile/record/stack_counts.h"

#include <algorithm>

#include "tracker/core/stack_table.h"

namespace allomon::internal {

std::atomic<uint64_t>& StackCounts::ReserveSlow(uint32_t stack) {
  return stack != 0 && counts_.Reserve(stack) ? counts_.At(stack) : elsewhere_;
}

void StackCounts::Clear() {
  elsewhere_.store(0, std::memory_order_relaxed);
  ForEachCount(
      [](uint32_t, std::atomic<uint64_t>& count) { count.store(0, std::memory_order_relaxed); });
}

void StackCounts::ForEach(const Visitor& visit) const {
  const uint64_t elsewhere = elsewhere_.load(std::memory_order_relaxed);
  if (elsewhere != 0) visit(0, elsewhere);
  ForEachCount([&visit](uint32_t stack, const std::atomic<uint64_t>& count) {
    const uint64_t amount = count.load(std::memory_order_relaxed);
    if (amount != 0) visit(stack, amount);
  });
}

// Ids are dense.  The walk ends at the last id, because reading beyond it would touch pages that no
// short program needs.
template <typename Visit>
void StackCounts::ForEachCount(Visit visit) const {
  const uint64_t last = Stacks().size();
  if (last == 0) return;
  for (uint64_t first = 0; first <= last; first += kSegmentStacks) {
    std::atomic<uint64_t>* const segment = counts_.Find(first);
    if (segment == nullptr) continue;
    const uint64_t here = std::min(last + 1 - first, uint64_t{kSegmentStacks});
    for (uint64_t i = 0; i < here; ++i) visit(static_cast<uint32_t>(first + i), segment[i]);
  }
}

}  // namespace allomon::internal
