// A thread of a managed heap: its nursery, its roots, its remembered slots, its sampler.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/collect/allocate.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/tables/new_samples.h"
#include "runtime/internal/space/nursery.h"
#include "runtime/internal/object/object.h"
#include "runtime/internal/space/old_window.h"
#include "runtime/internal/collect/root_list.h"
#include "runtime/internal/tables/survival.h"
#include "runtime/internal/stacks/thread_stack.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/space/window.h"
#include "runtime/internal/collect/world.h"
#include "tracker/allocation_clock.h"
#include "tracker/heap_client.h"
#include "tracker/managed_sampling.h"

namespace allomon::gc::internal {

class HeapCore;

// A registered stack of references: slots[0, *count) are roots.
struct RootRange {
  Slot* slots;
  const size_t* count;
};

// The facts of an allocation that the sampling law and the callbacks use.
struct Request {
  uint64_t trial_words;  // header included
  uint64_t size_bytes;   // without header, as the callback is told
  AllocationSource source;
  bool young;
  const TypeInfo& type;
};

class Mutator {
 public:
  // Takes a nursery; false when there is no memory for it.  Like all functions up to "Collector",
  // called by the thread itself.
  bool Init(HeapCore* heap, size_t nursery_bytes);
  // Called after LeaveTracker() if the world ever had the mutator.
  ~Mutator();
  Mutator() = default;
  Mutator(const Mutator&) = delete;
  Mutator& operator=(const Mutator&) = delete;

  // Allocates `bytes` in the nursery, header included; at most kMaxYoungBytes + 8.  The caller
  // writes the object and then its header, without another allocation in between.  Throws
  // std::bad_alloc or the exception of a callback; then nothing was allocated.
  char* AllocateYoungSlow(size_t bytes, uintptr_t header, AllocationSource source,
                          FrameState caller);
  // Like AllocateYoungSlow(), but only if the limit is just the end of a run: continues in the next
  // run. Otherwise returns nullptr.
  char* TryNextRun(size_t bytes);
  // Allocates an object of a site, in the nursery or in the old space, as AllocateYoungSlow() does.
  // If the object is old, the caller must remember its slots that refer to young objects.
  Placed AllocateAtSlow(SiteState& site, size_t bytes, uintptr_t header, FrameState caller);
  // Makes an object that is born old: zero-filled; the caller writes the header.
  Object* AllocateLargeSlow(uint64_t words, uint64_t size_bytes, uintptr_t header,
                            AllocationSource source, FrameState caller);
  // Judges and reports the out-of-heap bytes of the custom block, which a stack refers to.
  void SampleCustom(Object* block, uint64_t bytes, FrameState caller);

  // Lets collections and callbacks happen.  Throws the exception of a callback.
  void SafepointSlow();

  // Requests a call of options.on_request at the next safepoint.  Any thread, any signal handler.
  void RequestAttention();

  // EnterNative() makes the thread stand.  Its next allocation takes the slow path, which aborts.
  // LeaveNative() waits for a collection in progress, and ends this state.
  void EnterNative();
  void LeaveNative();
  bool runs() const { return state.load(std::memory_order_relaxed) == MutatorState::kRunning; }

  // Aborts in a NoAllocation scope or a NativeRegion, with the rule that was broken.
  void CheckMayAllocate() const;

  // Called by the world, under its mutex.  Between JoinTracker() and LeaveTracker() the sampler
  // learns of sessions, and profilers read the clock.
  void JoinTracker();
  void LeaveTracker();

  // Counts the allocations since the last call.
  void Sync();
  // inv.limit: sets the limit to the end of the grant, to the next sample, or to 0 if the thread
  // must take the slow path.
  void PublishLimit();

  // Called after StandHere(stack.here.point), when the thread begins to stand.
  void NoteStand();

  // Collector: called while the thread stands.
  size_t used_bytes() const { return nursery.used_bytes(); }
  // Reopens the nursery after its contents have been moved, or stay.
  template <typename Keep>
  void ReopenNursery(Keep keep);
  void LeaveNursery();
  // Closes the old window; the rest of its block is free again after the next sweep.
  void CloseOldWindow() { old.Close(); }
  // The precise roots of the thread.
  template <typename Visit>
  void ForEachRoot(Visit visit) {
    for (RootNode* root = window->first_root; root != nullptr; root = root->next) {
      visit(root->object);
    }
    for (const RootRange& range : ranges) {
      for (size_t i = 0; i < *range.count; ++i) visit(range.slots[i]);
    }
  }
  template <typename Visit>
  static void ForEachOfRange(const RootRange& range, Visit visit) {
    for (size_t i = 0; i < *range.count; ++i) {
      if (PointsToObject(range.slots[i])) visit(&range.slots[i], uint64_t{i});
    }
  }

  HeapCore* heap = nullptr;
  Window* window = nullptr;
  Mutator* next = nullptr;  // the world's list
  uint32_t thread_id = 0;   // the kernel's, for snapshots
  // Written by the thread itself, under the world's mutex.
  std::atomic<MutatorState> state{MutatorState::kOutside};
  Nursery nursery;
  OldWindow old{t_window};
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
  std::atomic<bool> requested{false};  // RequestAttention() was called since on_request ran
  size_t log_capacity = 0;

 private:
  // Judges and reports one block.  Returns the handle, 0 if it is not followed.
  heap_client::BlockHandle Sample(const Request& request, FrameState caller);
  void Attend();
  bool MayRunRequest() const;
  void RunRequest();
  void MakeRoom(size_t bytes);
  void MeetSiteSlow(SiteState& site);
  char* AllocateYoungAtSlow(SiteState& site, bool follow, size_t bytes, uintptr_t header,
                            FrameState caller);
  Placed AllocateOldAtSlow(SiteState& site, Survival::Turn turn, size_t bytes, uintptr_t header,
                           FrameState caller);
  // Returns nullptr if the old space has no room; the object is then made young.
  char* AllocateOldSlow(size_t bytes, uintptr_t header, FrameState caller);
  bool FindOldRoom(size_t bytes);
  void ShareGap();
  // Returns whether `bytes` fit, after moving to another hole if necessary.
  bool FindRoom(size_t bytes);
  bool WantsAttention() const;
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

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MUTATOR_H_
