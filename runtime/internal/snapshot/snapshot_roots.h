// The strong roots of a heap in groups, as snapshots show them.
#ifndef ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_ROOTS_H_

#include <cstdio>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/root_list.h"
#include "runtime/internal/object/value_word.h"

namespace allomon::gc::internal {

struct RootGroup {
  enum class Kind {
    kGlobals,
    kContainers,
    kFinalizable,
    kCoroutines,
    kLocals,
    kRoots,
    kValueStack
  };
  Kind kind;
  Mutator* mutator;  // for the last three groups
  size_t range;      // index among the mutator's ranges
  uint64_t edges;    // roots that are not null

  // Writes for example "(Locals of thread 123)", with the kernel's number of the thread.
  void PrintName(char (&text)[64]) const {
    switch (kind) {
      case Kind::kGlobals:
        snprintf(text, sizeof text, "(Globals)");
        break;
      case Kind::kFinalizable:
        snprintf(text, sizeof text, "(Finalizers that are due)");
        break;
      case Kind::kContainers:
        snprintf(text, sizeof text, "(Containers of Locals)");
        break;
      case Kind::kCoroutines:
        snprintf(text, sizeof text, "(Locals of coroutines)");
        break;
      case Kind::kLocals:
        snprintf(text, sizeof text, "(Locals of thread %u)", mutator->thread_id);
        break;
      case Kind::kRoots:
        snprintf(text, sizeof text, "(Roots of thread %u)", mutator->thread_id);
        break;
      case Kind::kValueStack:
        snprintf(text, sizeof text, "(Value stack %zu of thread %u)", range + 1,
                 mutator->thread_id);
    }
  }

  // Calls visit(object, index, name) for each root that is not null.  The name may be nullptr.
  template <typename Visit>
  void ForEach(HeapCore& heap, Visit visit) const
      ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
    switch (kind) {
      case Kind::kGlobals:
        return ForEachGlobal(heap, visit);
      case Kind::kFinalizable:
        return ForEachFinalizable(heap, visit);
      case Kind::kContainers:
        return ForEachInContainers(heap, visit);
      case Kind::kCoroutines:
        return ForEachOf(heap.coroutine_objects, visit);
      case Kind::kLocals:
        return ForEachOf(mutator->stack_objects, visit);
      case Kind::kRoots:
        return ForEachRoot(visit);
      case Kind::kValueStack:
        return mutator->ForEachOfRange(
            mutator->ranges[range], [&visit](Slot* slot, uint64_t i) { visit(*slot, i, nullptr); });
    }
  }

 private:
  template <typename Visit>
  static void ForEachGlobal(HeapCore& heap, Visit visit) ALLOMON_REQUIRES(heap.globals_mutex) {
    uint64_t index = 0;
    for (GlobalNode* node = heap.globals.next; node != &heap.globals; node = node->next, ++index) {
      if (PointsToObject(node->object)) visit(node->object, index, node->name);
    }
  }

  template <typename Visit>
  static void ForEachOf(const Vector<Object*>& objects, Visit visit) {
    for (size_t i = 0; i < objects.size(); ++i) visit(objects[i], uint64_t{i}, nullptr);
  }

  template <typename Visit>
  static void ForEachInContainers(HeapCore& heap, Visit visit)
      ALLOMON_REQUIRES(heap.globals_mutex) {
    uint64_t index = 0;
    for (RootBlock* b = heap.root_blocks.next; b != &heap.root_blocks; b = b->next) {
      for (size_t i = 0; i < b->count; ++i, ++index) {
        if (PointsToObject(b->slots()[i])) visit(b->slots()[i], index, nullptr);
      }
    }
  }

  template <typename Visit>
  void ForEachRoot(Visit visit) const {
    uint64_t index = 0;
    for (RootNode* root = mutator->window->first_root; root != nullptr;
         root = root->next, ++index) {
      if (PointsToObject(root->object)) visit(root->object, index, nullptr);
    }
  }

  template <typename Visit>
  static void ForEachFinalizable(HeapCore& heap, Visit visit) ALLOMON_REQUIRES(heap.tables_mutex) {
    const Vector<Finalizer>& due = heap.finalizers.due;
    for (size_t i = heap.finalizers.due_head; i < due.size(); ++i) visit(due[i].object, i, nullptr);
  }
};

// Finds the groups that a heap has; false without memory.
[[nodiscard]] bool FindRootGroups(HeapCore& heap, Vector<RootGroup>* groups)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_SNAPSHOT_ROOTS_H_
