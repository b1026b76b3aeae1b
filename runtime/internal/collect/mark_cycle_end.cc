// The end of the marking of a collection in slices.
#include <algorithm>
#include <optional>

#include "runtime/internal/object/check.h"
#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/mark_weak.h"
#include "runtime/internal/collect/stack_roots.h"

namespace allomon::gc::internal {

void MarkCycle::ReviveDueLocked() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector holds it
  ReviveFinalizable(heap_, **marker_);
}

bool MarkCycle::LiesInLiving(Slot* slot) {
  char* const byte = reinterpret_cast<char*>(slot);
  if (heap_.blocks.Contains(byte)) return BlockSpace::IsInMarked(byte);
  Object* const object = heap_.large.ObjectAt(reinterpret_cast<uintptr_t>(byte));
  return object != nullptr && heap_.large.IsMarked(object);
}

// Removes the slots of dead objects: once swept, their memory holds the slots of other objects.
void MarkCycle::FilterSlots(Vector<Slot*>& slots) {
  const auto is_dead = [this](Slot* slot)
                           ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return !LiesInLiving(slot); };
  slots.erase(std::remove_if(slots.begin(), slots.end(), is_dead), slots.end());
}

void MarkCycle::RestrictTenure() {
  uintptr_t low = 0;
  uintptr_t high = 0;
  heap_.large.FindBounds(&low, &high);
  FilterSlots(heap_.remembered);
  FilterSlots(young_slots_);
  if (!keeps_tenure_) {
    internal::RestrictTenure(heap_);
    for (Slot* slot : young_slots_) {
      if (IsYoung(*slot) && !HasTenure(*slot)) Remember(heap_, *slot);
    }
    Vector<Slot*>& remembered = heap_.remembered;
    std::sort(remembered.begin(), remembered.end());
    remembered.erase(std::unique(remembered.begin(), remembered.end()), remembered.end());
  }
  Vector<Slot*>().swap(young_slots_);
}

void MarkCycle::EndMarking() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  SliceMarker& marker = **marker_;
  ALLOMON_DCHECK_LE("inv.mark.count", marker.marked_words(), snapshot_words_);
  FilterTables(heap_, marker, [&](Object* object) { return WasThere(object); });
  ForgetDeadEphemerons(heap_, marker);
  DropDeadStays();
  if (heap_.options.verify) VerifyMarked(heap_, [&](Object* o) { return marker.IsMarked(o); });
  // Remember() notes nothing for this cycle after this line.
  EnterPhase(Phase::kSweep);
  TellMutators(false);
  RestrictTenure();
  ++heap_.statistics.major_collections;
  heap_.statistics.freed_old_words += snapshot_words_ - marker.marked_words();
  pacing_.EndMarking(heap_.grown_bytes);
  heap_.SetMajorThreshold();
  pacing_.BeginSweep(heap_.major_threshold_bytes);
  keep_free_blocks_ = heap_.BlocksToKeep();
  heap_.blocks.EndMarking();
  heap_.large.BeginSweep();
  marker_->reset();
}

bool MarkCycle::WasThere(Object* object) const {
  if (IsYoung(object)) return false;
  return IsLarge(HeaderOf(object)) || !BlockSpace::IsFresh(object);
}

// Running threads read the number of chunks, so chunks are removed only while the world is stopped.
void MarkCycle::EndSweep() {
  heap_.blocks.ChooseReleases(keep_free_blocks_);
  EnterPhase(Phase::kRelease);
}

}  // namespace allomon::gc::internal
