// A major collection at once, while the world is stopped.  mark_cycle.h has the one in slices.
#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/mark_weak.h"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"

namespace allomon::gc::internal {
namespace {

using WholeMarker = Marker<MarkMode::kWhole>;

void CountMajor(HeapCore& heap, uint64_t live_words) {
  ++heap.statistics.major_collections;
  heap.statistics.freed_old_words += heap.OldWords() - live_words;
}

// Makes holes of the objects that stayed in place and have died.
void ReopenNurseries(HeapCore& heap, const WholeMarker& marker) {
  const size_t young_bytes = heap.young.young_bytes();
  const auto lives = [](const YoungSlice& slice, Object* object) {
    if (!slice.IsMarked(object)) return false;
    NormalizeTenure(HeaderOf(object));
    return true;
  };
  ForgetDeadEphemerons(heap, marker);
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->ReopenNursery(lives);
  }
  heap.young.RebuildAdopted(lives);
  heap.statistics.freed_young_words += (young_bytes - heap.young.young_bytes()) / kWordBytes;
}

}  // namespace

bool MarkAndSweep(HeapCore& heap) {
  ALLOMON_DCHECK("inv.world", heap.world.IsStoppedByMe());
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!FindStackObjects(heap)) return false;
  heap.blocks.ClearMarks();
  heap.large.ClearMarks();
  heap.young.ForEachSlice([](YoungSlice& slice) { slice.ClearMarks(); });
  heap.remembered.clear();
  WholeMarker marker(heap, heap.options.mark_stack_entries);
  ForEachStackObject(heap, [&marker](Object*& object) { marker.Visit(object); });
  ForEachStrongRoot(heap, [&marker](Slot& slot) { marker.Visit(slot); });
  marker.Drain();
  const auto never = [] { return false; };
  MarkEphemerons(marker, never);
  ClearDeadEphemerons(marker);
  ReviveFinalizable(heap, marker);
  marker.Drain();
  // The objects revived for finalizers may reach further ephemerons and keys.
  MarkEphemerons(marker, never);
  ClearDeadEphemerons(marker);
  FilterTables(heap, marker, [](Object*) { return true; });
  ReopenNurseries(heap, marker);
  CountMajor(heap, marker.marked_old_words() + heap.young.old_bytes() / kWordBytes);
  // The free blocks that stay are for the growth of the heap as it is now.
  heap.SetMajorThreshold();
  heap.blocks.Sweep(BlocksToKeep(heap));
  heap.large.Sweep(heap.major_threshold_bytes);
  return true;
}

}  // namespace allomon::gc::internal
