#include "runtime/internal/collect/standing.h"

#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

Mutator* Standing::RunningOutside(const HeapCore* waits_for) {
  Mutator* const mutator = t_window.mutator;
  if (mutator == nullptr || mutator->heap == waits_for || !mutator->runs()) return nullptr;
  ALLOMON_GC_CHECK(
      mutator->no_allocation == 0,
      "rule.no_allocation: fork(), or the use of another heap, in a NoAllocation scope");
  return mutator;
}

}  // namespace allomon::gc::internal
