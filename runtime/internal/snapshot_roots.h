// The strong roots of a heap in groups, as snapshots show them.
#ifndef ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_ROOTS_H_
#define ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_ROOTS_H_

#include <cstdio>

#include "runtime/internal/heap_core.h"
#include "runtime/internal/value_word.h"

namespace allomon::gc::internal {

struct RootGroup {
  enum class Kind { kGlobals, kFinalizable, kLocals, kValueStack };
  Kind kind;
  Mutator* mutator;  // of the last two
  size_t range;      // which of the mutator's ranges
  uint64_t edges;    // roots that are not null

  // "(Locals of thread 123)".  The kernel's number of the thread.
  void PrintName(char (&text)[64]) const {
    switch (kind) {
      case Kind::kGlobals:
        snprintf(text, sizeof text, "(Globals)");
        break;
      case Kind::kFinalizable:
        snprintf(text, sizeof text, "(Finalizers that are due)");
        break;
      case Kind::kLocals:
        snprintf(text, sizeof text, "(Locals of thread %u)", mutator->thread_id);
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
      case Kind::kLocals:
        return mutator->ForEachLocal(
            [&visit](Slot* slot, uint64_t index) { visit(*slot, index, nullptr); });
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
  static void ForEachFinalizable(HeapCore& heap, Visit visit) ALLOMON_REQUIRES(heap.tables_mutex) {
    const Vector<Finalizer>& due = heap.finalizers.due;
    for (size_t i = heap.finalizers.due_head; i < due.size(); ++i) visit(due[i].object, i, nullptr);
  }
};

// Finds the groups that a heap has; false without memory.
[[nodiscard]] bool FindRootGroups(HeapCore& heap, Vector<RootGroup>* groups)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_ROOTS_H_
