// Keeps the heaps of a forked child usable.  The world of each heap is stopped around fork, so the
// child finds no half-done store.  The locks of each heap are held by the forking thread, the only
// thread that goes on in the child.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_FORK_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_FORK_H_

namespace allomon::gc::internal {

class HeapCore;

void RegisterForFork(HeapCore* heap);
void UnregisterForFork(HeapCore* heap);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_FORK_H_
