#include "runtime/internal/collect/root_list.h"

#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

void RootNode::FailRootOwner() {
  ALLOMON_GC_CHECK(t_window.mutator != nullptr,
                   "rule.attached: a Root on a thread that is not attached to a heap");
  Fail("rule.root.thread: a Root belongs to the thread that made it");
}

bool RootNode::OwnerRuns() const { return owner->runs(); }

}  // namespace allomon::gc::internal
