// The collector learns of stores of references, and of reads of weak ones.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_BARRIER_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_BARRIER_H_

#include "runtime/internal/space/window.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

void LogSlotSlow(Slot* slot) noexcept;
// Notes a slot of an old object that points to a young one.  The list has no optimisation, so that
// a debug build can compare the log with it (inv.remembered).
void NoteForCheck(Slot* slot) noexcept;

// Notes what a slot of the old space referred to, or what was read of a weak reference, while a
// collection marks.  Any object, null or number.
void NoteOverwrittenSlow(Slot* slot, Object* old) noexcept;
void NoteReadSlow(Object* object) noexcept;

// The barrier of a collection in slices, executed before the slot is overwritten: the reference may
// have been the last way to an object that was there when the collection began.
__attribute__((always_inline)) inline void NoteOverwritten(Slot* slot, Object* old) {
  if (__builtin_expect(t_window.marking, 0)) NoteOverwrittenSlow(slot, old);
}
// The same for what keeps nothing alive, and is read.
__attribute__((always_inline)) inline Object* NoteRead(Object* object) {
  if (__builtin_expect(t_window.marking, 0)) NoteReadSlow(object);
  return object;
}

// The write barrier, executed after the store.  `slot` belongs to an old object, pointed to `old`,
// and now points to a young object.  If `old` is young, the slot is logged already.  Slots that
// point to an object with tenure are not.
__attribute__((always_inline)) inline void Remember(Slot* slot, Object* old, Object* value) {
  if constexpr (allomon::internal::kDebugChecks) {
    if (IsYoung(value) && !IsYoung(slot)) NoteForCheck(slot);
  }
  if (!IsYoung(value) || IsYoung(slot) || (IsYoung(old) && !HasTenure(old))) return;
  if (__builtin_expect(t_window.log_top == t_window.log_limit, 0)) return LogSlotSlow(slot);
  *t_window.log_top++ = slot;
}

// Stores into `count` slots of one object, with the barrier of each.  The ranges of CopySlots() may
// overlap.  No safepoints.
void FillSlots(Slot* to, size_t count, Object* value) noexcept;
void CopySlots(Slot* to, const Slot* from, size_t count) noexcept;

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_BARRIER_H_
