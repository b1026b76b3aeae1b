// The memory of the old space that collections can count on.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_RESERVE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_RESERVE_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// The free blocks that the program will need until the next major collection.
size_t BlocksToKeep(HeapCore& heap);

// Takes a block of the old space for objects that are born old, of kBlockBytes; nullptr when the
// limit, or the system, allows none.  A safepoint of the mutator's thread, without callbacks.
char* TakeOldBlock(HeapCore& heap, Mutator* mutator);

// --- The caller has stopped the world, and holds the cycle's mutex.

// Makes room for all that the next collection may have to promote; false if there is none.
bool GrowReserve(HeapCore& heap);
// Gives each nursery its share of the reserve.
void GrantNurseries(HeapCore& heap);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_RESERVE_H_
