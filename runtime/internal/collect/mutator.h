// A thread of a managed heap: its nursery, its roots, its remembered slots, its sampler.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/object/object.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/nursery.h"
#include "runtime/internal/space/old_window.h"
#include "runtime/internal/space/window.h"
#include "runtime/internal/stacks/thread_stack.h"
#include "runtime/internal/tables/new_samples.h"
#include "runtime/internal/tables/survival.h"
#include "tracker/allocation_clock.h"
#include "tracker/heap_client.h"
#include "tracker/managed_sampling.h"

namespace allomon::gc::internal {

class HeapCore;

// inv.mutator.state: a mutator goes from kOutside to kRunning, from kRunning to each of the other
// states and back, and from kLeft to kOutside.  There are no other transitions.
enum class MutatorState : uint8_t {
  kOutside,   // not in the world's list: about to attach, or at its end
  kRunning,   // may touch the heap; collectors wait for it
  kParked,    // at a safepoint, until another thread resumes the world
  kStopping,  // has stopped the world, or waits for the others to stand
  kNative,    // in a NativeRegion, waiting for a lock of the runtime, or letting others run
  kLeft,      // its thread has detached: the next collection, or the next thread, takes it over
};

// A registered stack of references: slots[0, *count) are roots.
struct RootRange {
  Slot* slots;
  const size_t* count;
};

class Mutator {
 public:
  // Takes a nursery for the thread on this stack; false when there is no memory for it.  Like all
  // functions up to "Collector", called by the thread itself.
  bool Init(HeapCore* heap, CoroutineStacks* coroutines, const StackRange& own_stack,
            size_t nursery_bytes, bool stressed);
  // The thread ends its use, and another one begins it.  Between the two the words of the window
  // are here, since those of a thread end with it.  Called by the world, under its mutex.
  void MoveOut();
  void MoveIn(const StackRange& own_stack);
  // Called after LeaveTracker() if the world ever had the mutator.
  ~Mutator();
  Mutator() = default;
  // The backend's memory: a collector deletes mutators, and a sample of malloc's would run user
  // code there.  nullptr without memory.
  static void* operator new(size_t size_bytes) noexcept;
  static void operator delete(void* mutator);
  Mutator(const Mutator&) = delete;
  Mutator& operator=(const Mutator&) = delete;

  // Takes `bytes` of the nursery, header included, where the limit is the end of a run and nothing
  // else: goes on in the next run.  Else nullptr.
  char* TryNextRun(size_t bytes);
  // Requests a call of options.on_request at the next safepoint.  Any thread, any signal handler.
  void RequestAttention();

  // Whether on_request is to run now.
  bool MayRunRequest() const;
  bool runs() const { return state.load(std::memory_order_relaxed) == MutatorState::kRunning; }

  // Aborts in a NoAllocation scope or a NativeRegion, with the rule that was broken.
  void CheckMayAllocate() const;

  // The log of remembered slots has `log_capacity` places, and a part of that as spare ones, for
  // stores between a growth that failed and the next safepoint, which collects (inv.log.short).
  // GrowLog() doubles the log, or makes it; returns false without memory, and it is as before.
  // UseSpareLog() returns false if those are used, too.  Both are called by the thread itself.
  static constexpr size_t kSpareLogPart = 8;
  [[nodiscard]] bool GrowLog();
  [[nodiscard]] bool UseSpareLog(size_t used);
  // Collector, when the slots have been visited.
  void EmptyLog();

  // Called by the world, under its mutex.  Between JoinTracker() and LeaveTracker() the sampler
  // learns of sessions, and profilers read the clock.
  void JoinTracker();
  void LeaveTracker();

  // Call after StandHere(stack.here.point), where the thread begins to stand.
  void NoteStand();

  // Bytes of addresses that the nursery takes, at least.
  size_t NurseryBytes() const;

  // Collector: called while the thread stands.
  size_t used_bytes() const { return nursery.used_bytes(); }
  // Reopens the nursery after its contents have been moved, or stay.
  template <typename Keep>
  void ReopenNursery(Keep keep);
  void LeaveNursery(YoungSpace& young);
  // Closes the old window; the rest of its block is free again after the next sweep.
  void CloseOldWindow() { old.Close(); }
  template <typename Visit>
  static void ForEachOfRange(const RootRange& range, Visit visit) {
    for (size_t i = 0; i < *range.count; ++i) {
      if (PointsToObject(range.slots[i])) visit(&range.slots[i], uint64_t{i});
    }
  }

  HeapCore* heap = nullptr;
  CoroutineStacks* coroutines = nullptr;  // the heap's
  Window* window = nullptr;
  Mutator* next = nullptr;  // the world's list
  uint32_t thread_id = 0;   // the kernel's, for snapshots
  // Written by the thread itself, under the world's mutex.
  std::atomic<MutatorState> state{MutatorState::kOutside};
  Nursery nursery;
  OldWindow old{&t_window};
  Survival survival;
  ThreadStack stack;
  uintptr_t synced = 0;          // Sync() has counted up to here
  uintptr_t uncut_limit = 0;     // the limit without the end of the run
  uint64_t allocated_words = 0;  // words allocated in the nursery since the thread was attached
  heap_client::ManagedSampler sampler;
  NewSamples new_samples;
  AllocationClock clock;  // bytes up to the cursor, plus large objects and custom blocks
  Slot** log = nullptr;   // the first remembered slot
  Vector<RootRange> ranges;
  Vector<Object*> stack_objects;  // objects that the last marking has found on the thread's stacks
  // Ephemerons made or set since the last minor collection, and those that are young or have a
  // young key or value.
  Vector<Object*> weaks;
  Vector<Slot*> noted_for_check;  // debug builds: the slots that the log must have (inv.remembered)
  bool follow_next = false;       // tells AllocateYoungSlow() that the object has a turn of
                                  // `survival`
  // Objects that a collection in slices has still to mark (mark_cycle.h): the first n_notes.
  static constexpr size_t kMostNotes = 512;
  Object* notes[kMostNotes];
  size_t n_notes = 0;
  uint32_t no_allocation = 0;  // open NoAllocation scopes
  uint32_t stress_count = 0;
  bool in_finalizer = false;
  bool log_is_short = false;           // inv.log.short: the log could not grow
  bool was_late = false;               // the world has said so, under its mutex
  std::atomic<bool> requested{false};  // RequestAttention() was called since on_request ran
  size_t log_capacity = 0;
  Window own_window = {};  // in kLeft

 private:
  void MoveWindow(Window* to);
  void BeginThread(const StackRange& own_stack);
};

template <typename Keep>
void Mutator::ReopenNursery(Keep keep) {
  if (nursery.first_slice() == nullptr) return;
  nursery.Reopen(keep);
  synced = window->cursor;
}

// Notes that the calling thread stands until its function returns.
__attribute__((always_inline)) inline void Stand(Mutator& mutator) {
  StandHere(mutator.stack.here.point);
  mutator.NoteStand();
}

// Registered ranges of roots of this thread: slots[0, *count).
void AddValueStack(Slot* slots, const size_t* count);
void RemoveValueStack(const Slot* slots);
// Tells that the stack registered at `slots` now begins at `to`.
void MoveValueStack(const Slot* slots, Slot* to);

// The mutator of this thread; aborts with the rule when the thread is not attached.
Mutator& CurrentMutator();

// The mutator of this thread if it is attached to that heap, else nullptr.
inline Mutator* MutatorHere(const HeapCore& heap) {
  Mutator* const mutator = t_window.mutator;
  return mutator != nullptr && mutator->heap == &heap ? mutator : nullptr;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_
