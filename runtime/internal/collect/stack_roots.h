// The objects that words of native stacks may refer to, as a major collection finds them.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_STACK_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_STACK_ROOTS_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Visits the words of all native stacks.
void ScanStacks(HeapCore& heap, WordVisitor& visitor);

// Fills HeapCore::coroutine_objects and each Mutator::stack_objects.  Called after a minor
// collection and before marks are cleared, since the marks tell where objects begin.  False without
// memory.
[[nodiscard]] bool NoteStackObjects(HeapCore& heap);

// Does the same, and leaves kStaysBit set only in the young objects that a stack refers to.
// Without memory no bit has changed.
[[nodiscard]] bool FindStackObjects(HeapCore& heap);

// Takes tenure from an object that no stack refers to any more; the slots that point to it are, or
// will be, remembered.  Called after FindStackObjects().
inline void NormalizeTenure(uintptr_t& header) {
  constexpr uintptr_t kBoth = kStaysBit | kTenuredBit;
  if ((header & kBoth) != kBoth) header &= ~kBoth;
}

// Takes tenure from all objects that no stack refers to.  Called after a minor collection.
void RestrictTenure(HeapCore& heap);

template <typename Visit>
void ForEachStackObject(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object*& object : mutator->stack_objects) visit(object);
  }
  for (Object*& object : heap.coroutine_objects) visit(object);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_STACK_ROOTS_H_
