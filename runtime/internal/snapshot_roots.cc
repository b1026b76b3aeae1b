#include "runtime/internal/snapshot_roots.h"

namespace allomon::gc::internal {

// Groups without any root are left out.
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
  using Kind = RootGroup::Kind;
  bool ok = Add(heap, {Kind::kGlobals, nullptr, 0, 0}, groups) &&
            Add(heap, {Kind::kFinalizable, nullptr, 0, 0}, groups);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    ok = ok && Add(heap, {Kind::kLocals, m, 0, 0}, groups);
    for (size_t i = 0; i < m->ranges.size(); ++i) {
      ok = ok && Add(heap, {Kind::kValueStack, m, i, 0}, groups);
    }
  }
  return ok;
}

}  // namespace allomon::gc::internal
