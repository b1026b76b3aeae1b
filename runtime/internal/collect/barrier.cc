#include "runtime/internal/collect/barrier.h"

#include <algorithm>

#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {

namespace {

// Forgets logged slots that no longer point to young objects, and duplicates.
void CompactLog(Mutator& mutator) {
  Slot** end =
      std::remove_if(mutator.log, t_window.log_top, [](Slot* slot) { return !IsYoung(*slot); });
  std::sort(mutator.log, end);
  t_window.log_top = std::unique(mutator.log, end);
  ALLOMON_DCHECK("inv.log", std::adjacent_find(mutator.log, t_window.log_top) == t_window.log_top);
}

}  // namespace

// The barrier is no safepoint, so a collection cannot empty a full log.  The log is compacted and
// grown.
void LogSlotSlow(Slot* slot) noexcept {
  Mutator& mutator = CurrentMutator();
  CompactLog(mutator);
  const size_t used = static_cast<size_t>(t_window.log_top - mutator.log);
  if (used * 2 >= mutator.log_capacity) {
    const size_t capacity = std::max<size_t>(4096, mutator.log_capacity * 2);
    void* log = backend::Realloc(mutator.log, capacity * sizeof(Slot*));
    ALLOMON_GC_CHECK(log != nullptr, "out of memory for remembered slots");
    mutator.log = static_cast<Slot**>(log);
    mutator.log_capacity = capacity;
    t_window.log_top = mutator.log + used;
    t_window.log_limit = mutator.log + capacity;
  }
  *t_window.log_top++ = slot;
}

void NoteReadSlow(Object* object) noexcept {
  if (!PointsToObject(object) || (IsYoung(object) && !HasTenure(object))) return;
  Mutator& mutator = CurrentMutator();
  NoteForCycle(mutator, object);
}

// References of a young object need no note: they were visited when the collection began, or read
// from elsewhere since.
void NoteOverwrittenSlow(Slot* slot, Object* old) noexcept {
  if (!IsYoung(slot)) NoteReadSlow(old);
}

// Without memory the slot is not noted, and so is not checked.
void NoteForCheck(Slot* slot) noexcept {
  Vector<Slot*>& noted = CurrentMutator().noted_for_check;
  if (!noted.empty() && noted.back() == slot) return;
  if (noted.size() == noted.capacity() && !TryReserve(noted, noted.size() * 2 + 64)) return;
  noted.push_back(slot);
}

}  // namespace allomon::gc::internal
