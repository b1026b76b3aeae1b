// The end of a marking: handles the references that do not keep their object alive.  For both modes
// of Marker.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_WEAK_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_WEAK_H_

#include <algorithm>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/marker.h"

namespace allomon::gc::internal {

// Calls visit(EphemeronPair&) for the pairs of all marked objects that have keys.
template <MarkMode kMode, typename Visit>
void ForEachMarkedPair(const Marker<kMode>& marker, Visit visit) {
  const auto ahead = [&marker](Object* key) { marker.PrefetchMark(key); };
  for (Object* e = marker.first_ephemeron(); e != nullptr; e = NextMarked(e)) {
    ForEachPair(e, visit, ahead);
  }
}

// inv.ephemeron.fixpoint, for debug builds: the values of marked keys are marked.
template <MarkMode kMode>
bool ValuesAreMarked(const Marker<kMode>& marker) {
  bool all = true;
  ForEachMarkedPair(marker, [&](const EphemeronPair& pair) {
    all = all && (!marker.IsMarked(pair.key) || !PointsToObject(pair.value) ||
                  marker.IsMarked(pair.value));
  });
  return all;
}

// Marks the values whose keys are marked, until nothing changes or stop().  Returns true if it has
// reached the fixed point.  All pairs are visited once, and again only after a pass that could not
// wait for each key and has marked something.
template <MarkMode kMode, typename Stop>
bool MarkEphemerons(Marker<kMode>& marker, Stop stop) {
  bool done = false;
  for (bool again = true; again;) {
    const uint64_t before = marker.progress();
    marker.BeginEphemerons();
    ForEachMarkedPair(marker, [&marker](EphemeronPair& pair) { marker.VisitPair(pair); });
    done = marker.MarkUntil(stop);
    if (done) marker.Rescan();
    again =
        done && (marker.has_missed() || (marker.has_unwatched() && marker.progress() != before));
  }
  marker.EndEphemerons();
  ALLOMON_DCHECK("inv.ephemeron.fixpoint", !done || ValuesAreMarked(marker));
  return done;
}

template <MarkMode kMode>
void ClearDeadEphemerons(Marker<kMode>& marker) {
  const auto is_dead = [&marker](const EphemeronPair& pair) { return !marker.IsMarked(pair.key); };
  const auto ahead = [&marker](Object* key) { marker.PrefetchMark(key); };
  for (Object* e = marker.first_ephemeron(); e != nullptr; e = NextMarked(e)) {
    ClearPairs(e, is_dead, ahead);
  }
}

// Makes the finalizers of unreachable objects due, in the order of their registration, and visits
// their objects.  Weak references to the objects were cleared before.  Returns whether there are
// any, since these may reach further ephemerons and keys.
template <MarkMode kMode>
bool ReviveFinalizable(HeapCore& heap, Marker<kMode>& marker) ALLOMON_REQUIRES(heap.tables_mutex) {
  WeakTable<Finalizer>& table = heap.finalizers;
  heap.due_actions += table.MoveDead(
      0, [&marker](const Finalizer& finalizer) { return !marker.IsMarked(finalizer.object); });
  for (size_t i = table.due_head; i < table.due.size(); ++i) marker.Visit(table.due[i].object);
  return table.any_due();
}

// Tells the tables which objects are dead.  was_there(object) is true if the marking has looked for
// the object; an object that is newer counts as live.
template <MarkMode kMode, typename WasThere>
void FilterTables(HeapCore& heap, const Marker<kMode>& marker, WasThere was_there)
    ALLOMON_REQUIRES(heap.tables_mutex) {
  const auto is_marked = [&marker](Object* object) { return marker.IsMarked(object); };
  heap.samples.AfterMajor(is_marked);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    m->survival.AfterMajor(is_marked, was_there);
  }
  heap.due_actions += heap.customs.MoveDead(0, [&marker](CustomBlockEntry& entry) {
    entry.bytes = entry.bytes_now();
    return !marker.IsMarked(entry.object);
  });
  heap.identities.AfterMajor(is_marked, [&marker](Object* object) { marker.PrefetchMark(object); });
}

// Removes dead ephemerons from the lists that minor collections visit.
template <MarkMode kMode>
void ForgetDeadEphemerons(HeapCore& heap, const Marker<kMode>& marker) {
  const auto forget_dead = [&marker](Vector<Object*>& ephemerons) {
    const auto is_dead = [&marker](Object* e) { return !marker.IsMarked(e); };
    ephemerons.erase(std::remove_if(ephemerons.begin(), ephemerons.end(), is_dead),
                     ephemerons.end());
  };
  forget_dead(heap.left_weaks);
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    forget_dead(mutator->weaks);
  }
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_WEAK_H_
