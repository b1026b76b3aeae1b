// The objects that words of native stacks may refer to, as a major collection finds them.
#ifndef ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_

#include "runtime/internal/heap_core.h"

namespace allomon::gc::internal {

// Visits the words of all native stacks.
void ScanStacks(HeapCore& heap, WordVisitor& visitor);

// Fills HeapCore::coroutine_objects and each Mutator::stack_objects.  Behind a minor collection,
// and before marks are cleared, since they tell where objects begin.  False without memory.
[[nodiscard]] bool NoteStackObjects(HeapCore& heap);

// The same.  Of the young objects, only those that a stack refers to have kStaysBit afterwards;
// without memory, no bit has changed.
[[nodiscard]] bool FindStackObjects(HeapCore& heap);

// An object that no stack refers to any more loses its tenure; the slots that point to it are, or
// will be, remembered.  Behind FindStackObjects().
inline void NormalizeTenure(uintptr_t& header) {
  constexpr uintptr_t kBoth = kStaysBit | kTenuredBit;
  if ((header & kBoth) != kBoth) header &= ~kBoth;
}

// Takes the tenure of all objects that no stack refers to.  Behind a minor collection.
void RestrictTenure(HeapCore& heap);

template <typename Visit>
void ForEachStackObject(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object*& object : mutator->stack_objects) visit(object);
  }
  for (Object*& object : heap.coroutine_objects) visit(object);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACK_ROOTS_H_
