// The few words in thread-local storage that a mutator's fast paths touch.
//
// The words are written by their own thread, except `limit`.  A collector reads them while the
// thread is stopped (the world's mutex orders that).
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_WINDOW_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_WINDOW_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/young_range.h"
#include "tracker/base/check.h"

#if defined(__PIC__) && !defined(__PIE__)
#define ALLOMON_GC_TLS_MODEL tls_model("initial-exec")
#else
#define ALLOMON_GC_TLS_MODEL tls_model("local-exec")
#endif

namespace allomon::gc::internal {

class Mutator;
struct RootNode;

// All zero in a thread that is not attached: each fast path then takes its slow path, which aborts
// with rule.attached.
struct Window {
  // The next free byte of a hole of the nursery.
  uintptr_t cursor;
  // inv.limit: the cursor never passes the limit.  The limit is the end of the hole, that of the
  // run (young_slice.h), or the place of the next sample, whichever comes first.  The limit is 0
  // while the thread must take the slow path: for a collector that stops the world, for a tracker
  // that starts, in stress mode.
  std::atomic<uintptr_t> limit;
  // The Roots of this thread.
  RootNode* first_root;
  // Remembered slots: slots of old objects into which references to young ones were stored.
  Slot** log_top;
  Slot** log_limit;
  Mutator* mutator;
  // The next free byte of the old-space block for objects of old sites, and the limit of that
  // cursor (old_window.h).  Both 0 without a block.
  uintptr_t old_cursor;
  uintptr_t old_limit;
  // Whether a collection marks while this thread runs (mark_cycle.h).  Changes while the thread
  // stands.
  bool marking;
};

// inv.young.range: all code of a program that stores references has the same range compiled in. A
// symbol name contains the range, so other code does not link.
#define ALLOMON_GC_TEXT(word) #word
#define ALLOMON_GC_WINDOW_AT(start) "allomon_gc_window_" ALLOMON_GC_TEXT(start)
extern __thread Window t_window __asm__(ALLOMON_GC_WINDOW_AT(ALLOMON_GC_YOUNG_START))
    __attribute__((visibility("hidden"), ALLOMON_GC_TLS_MODEL));

void LogSlotSlow(Slot* slot) noexcept;
// Notes a slot of an old object that points to a young one.  The list is not optimised, so that a
// debug build can compare the log with it (inv.remembered).
void NoteForCheck(Slot* slot) noexcept;

// Notes the old value of a slot of the old space, or the value read from a weak reference, while a
// collection marks.  The value may be any object, null or number.
void NoteOverwrittenSlow(Slot* slot, Object* old) noexcept;
void NoteReadSlow(Object* object) noexcept;

// The barrier of a collection in slices, executed before the slot is overwritten: the old value may
// have been the last path to an object of the snapshot.
__attribute__((always_inline)) inline void NoteOverwritten(Slot* slot, Object* old) {
  if (__builtin_expect(t_window.marking, 0)) NoteOverwrittenSlow(slot, old);
}
// The barrier for reading a weak reference.
__attribute__((always_inline)) inline Object* NoteRead(Object* object) {
  if (__builtin_expect(t_window.marking, 0)) NoteReadSlow(object);
  return object;
}

// Whether the object, which lies in the young range, has tenure: it is old in its place.
__attribute__((always_inline)) inline bool HasTenure(Object* object) {
  return (HeaderOf(object) & kTenuredBit) != 0;
}

// The write barrier, executed after the store.  `slot` belongs to an old object, pointed to `old`,
// and now points to a young object.  If `old` is young, the slot is already logged.  Slots that
// point to an object with tenure are not logged.
__attribute__((always_inline)) inline void Remember(Slot* slot, Object* old, Object* value) {
  if constexpr (allomon::internal::kDebugChecks) {
    if (IsYoung(value) && !IsYoung(slot)) NoteForCheck(slot);
  }
  if (!IsYoung(value) || IsYoung(slot) || (IsYoung(old) && !HasTenure(old))) return;
  if (__builtin_expect(t_window.log_top == t_window.log_limit, 0)) return LogSlotSlow(slot);
  *t_window.log_top++ = slot;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_WINDOW_H_
