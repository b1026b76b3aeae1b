// Keeps the heaps of a forked child usable: the world of each is stopped around fork, so
// the child finds no half-done store, and only the forking thread goes on in it.
#ifndef ALLOMON_RUNTIME_INTERNAL_FORK_H_
#define ALLOMON_RUNTIME_INTERNAL_FORK_H_

namespace allomon::gc::internal {

class HeapCore;

void RegisterForFork(HeapCore* heap);
void UnregisterForFork(HeapCore* heap);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_FORK_H_
