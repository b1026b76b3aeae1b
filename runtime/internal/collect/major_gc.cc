// A major collection at once, while the world is stopped.  mark_cycle.h has the one in slices.
#include <algorithm>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/mark_weak.h"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"
#include "runtime/internal/collect/team_marking.h"

namespace allomon::gc::internal {
namespace {

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

template <MarkMode kMode>
__attribute__((always_inline)) inline void VisitRoots(HeapCore& heap, Marker<kMode>& marker)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  ForEachStackObject(heap, [&marker](Object*& object) { marker.Visit(object); });
  ForEachStrongRoot(heap, [&marker](Slot& slot) { marker.Visit(slot); });
}

void MarkByOne(HeapCore& heap, WholeMarker& marker)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  VisitRoots(heap, marker);
  marker.Drain();
}

// Returns false if one thread is to mark: there are no others, or they gain nothing, or there is no
// memory.
bool MarkBySeveral(HeapCore& heap, WholeMarker& marker)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  const size_t members = std::min(heap.n_collectors, heap.team.n_threads() + 1);
  if (members == 1 || !heap.mark_choice.TakesSeveral(heap.OldWords() * kWordBytes)) return false;
  const TeamMarking::Pointer marking = TeamMarking::Make(heap, members);
  if (marking == nullptr) return false;
  heap.mark_choice.BeginSeveral();
  ++heap.statistics.parallel_markings;
  VisitRoots(heap, marking->own());
  marking->Run(marker);
  marker.Drain();
  ALLOMON_DCHECK("inv.mark.team", MarksAreWhole(heap, marker));
  return true;
}

// Marks all that the roots reach, by one thread or by several: whichever was quicker.
__attribute__((noinline)) void MarkByChoice(HeapCore& heap, WholeMarker& marker)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  const uint64_t start_ns = NowNs();
  if (!MarkBySeveral(heap, marker)) MarkByOne(heap, marker);
  heap.mark_choice.Note(marker.marked_words() * kWordBytes, NowNs() - start_ns);
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
  if (__builtin_expect(heap.n_collectors == 1, 1)) {
    MarkByOne(heap, marker);
  } else {
    MarkByChoice(heap, marker);
  }
  const auto never = [] { return false; };
  MarkEphemerons(marker, never);
  ClearDeadEphemerons(marker);
  if (ReviveFinalizable(heap, marker)) {
    marker.Drain();
    MarkEphemerons(marker, never);
    ClearDeadEphemerons(marker);
  }
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
