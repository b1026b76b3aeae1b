#include "runtime/internal/standing.h"

#include "runtime/internal/check.h"
#include "runtime/internal/mutator.h"

namespace allomon::gc::internal {
namespace {

Mutator* RunningOutside(const HeapCore* waits_for) {
  Mutator* const mutator = t_window.mutator;
  return mutator != nullptr && mutator->heap != waits_for && mutator->runs() ? mutator : nullptr;
}

}  // namespace

Standing::Standing(const HeapCore* waits_for) : mutator_(RunningOutside(waits_for)) {
  if (mutator_ == nullptr) return;
  ALLOMON_GC_CHECK(
      mutator_->no_allocation == 0,
      "rule.no_allocation: fork(), or the use of another heap, in a NoAllocation scope");
  mutator_->EnterNative();
}

Standing::~Standing() {
  if (mutator_ != nullptr) mutator_->LeaveNative();
}

}  // namespace allomon::gc::internal
