// A major collection in slices beside the program: "snapshot at the beginning" (Yuasa, "Real-time
// garbage collection on general-purpose machines", 1990).
//
// The collection marks all objects that were reachable when it began, and all that became old
// since.  During marking, the barrier notes the old value of each overwritten reference in the old
// space (NoteOverwrittenSlow), since it may have been the only path to an object not yet marked.
// README, section 19.
//
//   kIdle -> kClear -> kMark -> kSweep -> kRelease -> kIdle
//
// MarkCycle::Work() does a piece of any of these, on any thread.  What needs the stopped world is
// in BeginCycle() and in PauseCycle(), which a minor collection calls at its end.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_CYCLE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_CYCLE_H_

#include <cstdint>

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// --- The world is stopped, the caller has a MarkState::Hold and the heap's mutexes, and a minor
// collection has left nothing young but what stays.

// False without memory; then nothing has changed.
bool BeginCycle(HeapCore& heap) ALLOMON_REQUIRES(heap.cycle.mutex);
// Goes on for a time that keeps the pause short, and ends the marking if all is marked; ends the
// collection if the program makes objects old faster than that.
void PauseCycle(HeapCore& heap, uint64_t pause_start_ns) ALLOMON_REQUIRES(heap.cycle.mutex);
// Ends the collection, for one at once that follows.  A marking is given up, and makes nothing due
// but the finalizers of an end that was interrupted.
void EndCycle(HeapCore& heap) ALLOMON_REQUIRES(heap.cycle.mutex);

// --- Mutators.

// The object is to be marked, as if the snapshot had a reference to it.  Called by barriers;
// never fails.  Cost: a store; every 512th time, that of marking as many objects.
void NoteForCycle(Mutator& mutator, Object* object);

// --- The helper (mark_helper.h).

// Does a piece of the work; false if there is none that can be done beside the program.  What it
// gives back to the system, it does while collectors may go on.
bool WorkForHelper(HeapCore& heap) ALLOMON_EXCLUDES(heap.cycle.mutex);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_CYCLE_H_
