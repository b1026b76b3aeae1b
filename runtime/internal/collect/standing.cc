#include "runtime/internal/collect/standing.h"

#include "runtime/internal/collect/limit.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

// The point and the frame have been noted by the function that waits.
void EnterNative(Mutator& mutator) {
  mutator.stack.NoteStand(mutator.heap->coroutines);
  mutator.window->limit.store(0, std::memory_order_relaxed);
  mutator.heap->world.EnterNative(mutator);
}

void LeaveNative(Mutator& mutator) {
  mutator.heap->world.LeaveNative(mutator);
  PublishLimit(mutator);
}

Mutator* Standing::RunningOutside(const HeapCore* waits_for) {
  Mutator* const mutator = t_window.mutator;
  if (mutator == nullptr || mutator->heap == waits_for || !mutator->runs()) return nullptr;
  ALLOMON_GC_CHECK(
      mutator->no_allocation == 0,
      "rule.no_allocation: fork(), or the use of another heap, in a NoAllocation scope");
  return mutator;
}

}  // namespace allomon::gc::internal
