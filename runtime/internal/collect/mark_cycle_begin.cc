// The beginning of a collection in slices: its roots.
#include <optional>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/stack_roots.h"

namespace allomon::gc::internal {

bool MarkCycle::AddRoots() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  lacks_room_ = false;
  const auto add = [this](Slot& slot) {
    if (IsYoung(slot)) {
      Reach(slot);
    } else {
      MarkRoot(slot);
    }
  };
  ForEachStackObject(heap_, add);
  ForEachStrongRoot(heap_, add);
  return !lacks_room_;
}

bool MarkCycle::Begin() {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  ALLOMON_DCHECK("inv.mark.cycle", phase() == Phase::kIdle);
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!NoteStackObjects(heap_)) return false;
  marker_->emplace(heap_);
  if (!HoldStays() || !AddRoots()) {
    marker_->reset();
    return false;
  }
  heap_.blocks.BeginMarking();
  heap_.large.ClearMarks();
  TellMutators(true);
  finalizers_revived_ = large_swept_ = keeps_tenure_ = false;
  snapshot_words_ = heap_.OldWords() - heap_.young.old_bytes() / kWordBytes;
  pacing_.Begin(heap_.grown_bytes, heap_.major_threshold_bytes);
  next_pause_bytes_ = pacing_.NextPause(heap_.grown_bytes);
  EnterPhase(Phase::kClear);
  return true;
}

}  // namespace allomon::gc::internal
