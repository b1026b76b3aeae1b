// Collections.  The caller has stopped the world, and no other thread collects.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_

#include <functional>

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Moves the reachable young objects into the old space, except those that a word of a native stack
// may refer to.  The holes between these become the nurseries.  Never fails (inv.reserve).
void CollectMinor(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Marks the reachable objects, makes holes of the others, and sets the threshold of the next major
// collection.  Called after CollectMinor().  If there is no memory to note the objects that stacks
// refer to, frees nothing and returns false.  The caller frees the released chunks when the world
// runs again.
bool MarkAndSweep(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Walks the heap from its roots and aborts on the first broken invariant.
void VerifyHeap(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
// Walks the heap when a marking in slices ends, before anything is swept, and aborts if a reachable
// object is not marked.
void VerifyMarked(HeapCore& heap, const std::function<bool(Object*)>& is_marked)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_
