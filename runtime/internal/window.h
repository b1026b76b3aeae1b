// The few words in thread-local storage that a mutator's fast paths touch.
//
// The words are written by their own thread, except `limit`.  A collector reads them while the
// thread is stopped (the world's mutex orders that).
#ifndef ALLOMON_RUNTIME_INTERNAL_WINDOW_H_
#define ALLOMON_RUNTIME_INTERNAL_WINDOW_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/object.h"
#include "runtime/internal/young_range.h"
#include "tracker/base/check.h"

#if defined(__PIC__) && !defined(__PIE__)
#define ALLOMON_GC_TLS_MODEL tls_model("initial-exec")
#else
#define ALLOMON_GC_TLS_MODEL tls_model("local-exec")
#endif

namespace allomon::gc::internal {

class Mutator;

// All zero in a thread that is not attached: each fast path then takes its slow path, which aborts
// with rule.attached.
struct Window {
  // The next free byte of the nursery.
  uintptr_t cursor;
  // inv.limit: the cursor never passes the limit.  The limit is the end of the nursery, or the
  // place of the next sample if that comes first.  The limit is 0 while the thread's attention is
  // wanted: by a collector that stops the world, by a tracker that starts, in stress mode.
  std::atomic<uintptr_t> limit;
  // Root slots are a stack: [the mutator's first slot, root_top) are in use.
  Slot* root_top;
  Slot* root_limit;
  // Remembered slots: slots of old objects in which references to young ones were stored.
  Slot** log_top;
  Slot** log_limit;
  Mutator* mutator;
};

// inv.young.range: all code of a program that stores references has the same range compiled in.
// The name at link time tells the range, so other code does not link.
#define ALLOMON_GC_TEXT(word) #word
#define ALLOMON_GC_WINDOW_AT(start) "allomon_gc_window_" ALLOMON_GC_TEXT(start)
extern __thread Window t_window __asm__(ALLOMON_GC_WINDOW_AT(ALLOMON_GC_YOUNG_START))
    __attribute__((visibility("hidden"), ALLOMON_GC_TLS_MODEL));

// The value of a root slot whose Local has ended while slots above it are in use.
inline Slot DeadSlot() { return reinterpret_cast<Slot>(uintptr_t{1}); }

// The number of root slots that a thread can have: 64 MiB of addresses.  As many addresses below
// them are reserved and never used, so a slot less than this below the top is one of the thread's
// own.
inline constexpr size_t kMaxRoots = size_t{8} << 20;

// The slot of all Locals that were moved from, which own no slot.  Always null.
extern Slot no_slot __attribute__((visibility("hidden")));

Slot* TakeRootSlow(Object* value) noexcept;
void PopDeadRoots() noexcept;
// Called with no_slot, or with a slot that is not this thread's; aborts for a slot of another
// thread.
void ReleaseRootSlow(Slot* slot) noexcept;

// Computes with integers: g++ 12 assumes that root stacks begin at their first known slot.
inline Slot* SlotBelow(Slot* slot) {
  return reinterpret_cast<Slot*>(reinterpret_cast<uintptr_t>(slot) - sizeof(Slot));
}

void LogSlotSlow(Slot* slot) noexcept;
// Notes a slot of an old object that points to a young one.  The list has no optimisation, so that
// a debug build can compare the log with it (inv.remembered).
void NoteForCheck(Slot* slot) noexcept;
// Forgets all roots from `top` on.  Some of them may be on the free list.
void CutBackRoots(Slot* top);

__attribute__((always_inline)) inline Slot* TakeRoot(Object* value) {
  Slot* slot = t_window.root_top;
  if (__builtin_expect(slot == t_window.root_limit, 0)) return TakeRootSlow(value);
  ALLOMON_DCHECK_NE("inv.roots", *SlotBelow(slot), DeadSlot());
  *slot = value;
  t_window.root_top = slot + 1;
  return slot;
}

// Pops the slot and the dead slots below it, so that a live slot is on top; the slot below the
// first one is never dead.  If the slot is not the topmost one, it becomes dead: the temporaries of
// a call are released when its result lies above them.  no_slot is never popped.
__attribute__((always_inline)) inline void ReleaseRoot(Slot* slot) {
  Slot* const top = t_window.root_top;
  if (__builtin_expect(slot + 1 == top, 1)) {
    t_window.root_top = slot;
    if (__builtin_expect(*SlotBelow(slot) == DeadSlot(), 0)) PopDeadRoots();
  } else if (__builtin_expect(static_cast<size_t>(top - slot) < kMaxRoots, 1)) {
    *slot = DeadSlot();
  } else {
    ReleaseRootSlow(slot);
  }
}

// Releases the upper one of two slots and returns the lower one.  Either may be no_slot; if both
// are, the result is a new slot.
Slot* MergeRootsSlow(Slot* a, Slot* b) noexcept;

// The same, fast if `upper` is on top and `lower` below it.
__attribute__((always_inline)) inline Slot* MergeRoots(Slot* upper, Slot* lower) {
  if (__builtin_expect(lower + 1 != upper || upper + 1 != t_window.root_top, 0)) {
    return MergeRootsSlow(upper, lower);
  }
  t_window.root_top = upper;
  return lower;
}

// The write barrier, executed after the store.  `slot` belongs to an old object, pointed to `old`,
// and now points to a young object.  If `old` is young, the slot is logged already.
__attribute__((always_inline)) inline void Remember(Slot* slot, Object* old, Object* value) {
  if constexpr (allomon::internal::kDebugChecks) {
    if (IsYoung(value) && !IsYoung(slot)) NoteForCheck(slot);
  }
  if (!IsYoung(value) || IsYoung(slot) || IsYoung(old)) return;
  if (__builtin_expect(t_window.log_top == t_window.log_limit, 0)) return LogSlotSlow(slot);
  *t_window.log_top++ = slot;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_WINDOW_H_
