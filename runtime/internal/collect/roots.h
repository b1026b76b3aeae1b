// The precise roots of a heap.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOTS_H_

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/root_list.h"

namespace allomon::gc::internal {

// The Roots of the thread.
template <typename Visit>
void ForEachRootNode(const Mutator& mutator, Visit visit) {
  for (RootNode* root = mutator.window->first_root; root != nullptr; root = root->next) {
    visit(root->object);
  }
}

// The precise roots of the thread.
template <typename Visit>
void ForEachRoot(const Mutator& mutator, Visit visit) {
  ForEachRootNode(mutator, visit);
  for (const RootRange& range : mutator.ranges) {
    for (size_t i = 0; i < *range.count; ++i) visit(range.slots[i]);
  }
}

// The precise roots that belong to no thread.
template <typename Visit>
void ForEachSharedRoot(HeapCore& heap, Visit visit)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  for (GlobalNode* node = heap.globals.next; node != &heap.globals; node = node->next) {
    visit(node->object);
  }
  for (RootBlock* block = heap.root_blocks.next; block != &heap.root_blocks; block = block->next) {
    for (size_t i = 0; i < block->count; ++i) visit(block->slots()[i]);
  }
  WeakTable<Finalizer>& finalizers = heap.finalizers;
  for (size_t i = finalizers.due_head; i < finalizers.due.size(); ++i) {
    visit(finalizers.due[i].object);
  }
}

// Calls visit(Slot&) for every strong root but the native stacks.
template <typename Visit>
void ForEachStrongRoot(HeapCore& heap, Visit visit)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    ForEachRoot(*mutator, visit);
  }
  ForEachSharedRoot(heap, visit);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOTS_H_
