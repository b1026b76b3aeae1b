#include "runtime/internal/collect/barrier.h"

#include <algorithm>
#include <cstring>

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

// The barrier is no safepoint, so a collection cannot empty a full log: callers hold references
// that it would move, and have stored others that are not logged yet.  The log is compacted and
// grown.  Without memory the thread collects at its next safepoint, and the log's spare part serves
// until that comes.
void LogSlotSlow(Slot* slot) noexcept {
  Mutator& mutator = CurrentMutator();
  CompactLog(mutator);
  const size_t used = static_cast<size_t>(t_window.log_top - mutator.log);
  if (used * 2 >= mutator.log_capacity && !mutator.GrowLog()) {
    ALLOMON_GC_CHECK(mutator.UseSpareLog(used), "out of memory for remembered slots");
    t_window.limit.store(0, std::memory_order_relaxed);
  }
  *t_window.log_top++ = slot;
}

namespace {

bool AnyYoung(const Slot* slots, size_t count) {
  bool any = false;
  for (size_t i = 0; i < count; ++i) any |= IsYoung(slots[i]);
  return any;
}

// Like Field's assignment, to a slot of an old object.
void StoreOld(Slot* slot, Object* value) {
  Object* const old = *slot;
  NoteOverwritten(slot, old);
  // Release: partner of the marker's acquire load, as in Field.
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  Remember(slot, old, value);
}

// Whether nothing has to be noted of stores: the slots are young, or neither does a collection mark
// nor is a value young.  As no safepoint follows, it remains so; and no thread that marks reads the
// slots, so plain stores do.
bool StoresAreFree(const Slot* to, const Slot* values, size_t count) {
  return IsYoung(to) || (!t_window.marking && !AnyYoung(values, count));
}

}  // namespace

void FillSlots(Slot* to, size_t count, Object* value) noexcept {
  if (StoresAreFree(to, &value, 1)) {
    std::fill_n(to, count, value);
  } else {
    for (size_t i = 0; i < count; ++i) StoreOld(to + i, value);
  }
}

void CopySlots(Slot* to, const Slot* from, size_t count) noexcept {
  if (count == 0 || to == from) return;
  if (StoresAreFree(to, from, count)) {
    memmove(static_cast<void*>(to), from, count * sizeof(Slot));
  } else if (to < from) {
    for (size_t i = 0; i < count; ++i) StoreOld(to + i, from[i]);
  } else {
    for (size_t i = count; i-- > 0;) StoreOld(to + i, from[i]);
  }
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
