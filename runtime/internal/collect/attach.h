// A thread joins a heap, and leaves it.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Returns nullptr when there is no memory for another nursery.
Mutator* Attach(HeapCore& heap);
void Detach(HeapCore& heap, Mutator* mutator);

// With the world stopped by this thread, behind a collection: what is left in the mutator's nursery
// and lists is the heap's from now on.
void LeaveHeap(HeapCore& heap, Mutator& mutator);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_
