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

  // As in a thread that is not attached.
  void Clear();
  // The thread detaches, or takes over what another one left: all words go there, with a limit of
  // 0.  This window is cleared.
  void MoveTo(Window* to);
};

// inv.young.range: all code of a program that stores references has the same range compiled in. A
// symbol name contains the range, so other code does not link.
#define ALLOMON_GC_TEXT(word) #word
#define ALLOMON_GC_WINDOW_AT(start) "allomon_gc_window_" ALLOMON_GC_TEXT(start)
extern __thread Window t_window __asm__(ALLOMON_GC_WINDOW_AT(ALLOMON_GC_YOUNG_START))
    __attribute__((visibility("hidden"), ALLOMON_GC_TLS_MODEL));

// Whether the object, which lies in the young range, is old in its place.
__attribute__((always_inline)) inline bool HasTenure(Object* object) {
  return (HeaderOf(object) & kTenuredBit) != 0;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_WINDOW_H_
