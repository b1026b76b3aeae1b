// Collections.  The caller has stopped the world, and no other thread collects.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECTOR_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECTOR_H_

#include "runtime/internal/heap_core.h"

namespace allomon::gc::internal {

// Moves every young object that is reachable into the old space, and empties all
// nurseries.  Never fails (inv.reserve).
void CollectMinor(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Marks the reachable objects, and makes holes of the other ones.  All nurseries are empty.
void MarkAndSweep(HeapCore& heap, size_t keep_free_blocks)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Walks the heap from its roots and aborts on the first broken invariant.
void VerifyHeap(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Calls visit(Slot&) for every strong root.
template <typename Visit>
void ForEachStrongRoot(HeapCore& heap, Visit visit)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->ForEachRoot(visit);
  }
  for (GlobalNode* node = heap.globals.next; node != &heap.globals; node = node->next) {
    visit(node->object);
  }
  WeakTable<Finalizer>& finalizers = heap.finalizers;
  for (size_t i = finalizers.due_head; i < finalizers.due.size(); ++i) {
    visit(finalizers.due[i].object);
  }
}

// An ephemeron's words.
struct EphemeronSlots {
  Slot key;
  Slot value;
  Object* next_marked;  // the collector's own, while it marks
};
inline EphemeronSlots& EphemeronOf(Object* object) {
  return *reinterpret_cast<EphemeronSlots*>(object);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECTOR_H_
