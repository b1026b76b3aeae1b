// The objects that words of native stacks may refer to, as a major collection finds them.
#ifndef ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_

#include "runtime/internal/heap_core.h"

namespace allomon::gc::internal {

// Visits the words of all native stacks.
void ScanStacks(HeapCore& heap, WordVisitor& visitor);

// Fills HeapCore::coroutine_objects and each Mutator::stack_objects.  Behind a minor collection,
// and before marks are cleared, since they tell where objects begin.  Of the young objects, only
// those that a stack refers to have kStaysBit afterwards.  False without memory; then no bit has
// changed.
[[nodiscard]] bool FindStackObjects(HeapCore& heap);

template <typename Visit>
void ForEachStackObject(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object*& object : mutator->stack_objects) visit(object);
  }
  for (Object*& object : heap.coroutine_objects) visit(object);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_
