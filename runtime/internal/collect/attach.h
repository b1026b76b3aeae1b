// A thread joins a heap, and leaves it.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Returns nullptr when there is no memory for another nursery.  Stops the other threads only if no
// thread has left a nursery since the last collection.
Mutator* Attach(HeapCore& heap);
// Leaves the nursery to the next thread or collection.  Collects only if no other thread is
// attached, or many have left since the last collection.
void Detach(HeapCore& heap, Mutator* mutator);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ATTACH_H_
