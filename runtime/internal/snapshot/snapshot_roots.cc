#include "runtime/internal/snapshot/snapshot_roots.h"

namespace allomon::gc::internal {

using Group = RootGroup::Kind;

// Groups without roots are left out.
static bool Add(HeapCore& heap, RootGroup group, Vector<RootGroup>* groups)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  group.ForEach(heap, [&group](Object*, uint64_t, const char*) { ++group.edges; });
  if (group.edges == 0) return true;
  const bool full = groups->size() == groups->capacity();
  if (full && !TryReserve(*groups, groups->size() * 2 + 8)) return false;
  groups->push_back(group);
  return true;
}

bool FindRootGroups(HeapCore& heap, Vector<RootGroup>* groups) {
  bool ok = Add(heap, {Group::kGlobals, nullptr, 0, 0}, groups) &&
            Add(heap, {Group::kContainers, nullptr, 0, 0}, groups) &&
            Add(heap, {Group::kFinalizable, nullptr, 0, 0}, groups) &&
            Add(heap, {Group::kCoroutines, nullptr, 0, 0}, groups);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    ok = ok && Add(heap, {Group::kLocals, m, 0, 0}, groups) &&
         Add(heap, {Group::kRoots, m, 0, 0}, groups);
    for (size_t i = 0; i < m->ranges.size(); ++i) {
      ok = ok && Add(heap, {Group::kValueStack, m, i, 0}, groups);
    }
  }
  return ok;
}

}  // namespace allomon::gc::internal
