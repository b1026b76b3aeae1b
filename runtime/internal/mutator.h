// A thread of a managed heap: its nursery, its roots, its remembered slots, its sampler.
#ifndef ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_
#define ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
#include "runtime/internal/value_word.h"
#include "runtime/internal/window.h"
#include "runtime/internal/world.h"
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
  // Takes a nursery and the root stack; false when there is no memory for them.  Called by the
  // thread itself, as all functions up to "Collector".
  bool Init(HeapCore* heap, size_t nursery_bytes);
  // Called after LeaveTracker(), if the world ever had the mutator.
  ~Mutator();
  Mutator() = default;
  Mutator(const Mutator&) = delete;
  Mutator& operator=(const Mutator&) = delete;

  // Takes `bytes` of the nursery, header included; at most kMaxYoungBytes + 8.  The caller writes
  // the object and then its header, without another allocation in between.  Throws std::bad_alloc,
  // or the exception of a callback; after an exception nothing was allocated.
  char* AllocateYoungSlow(size_t bytes, uintptr_t header, AllocationSource source,
                          FrameState caller);
  // Makes an object that is born old: zero-filled, the header to be written by the caller.
  Object* AllocateLargeSlow(uint64_t words, uint64_t size_bytes, uintptr_t header,
                            AllocationSource source, FrameState caller);
  // Judges and reports the out-of-heap bytes of the custom block in `root`.
  void SampleCustom(const Slot* root, uint64_t bytes, FrameState caller);

  // Lets collections and callbacks happen.  Throws the exception of a callback.
  void SafepointSlow();

  // Requests a call of options.on_request at the next safepoint.  Any thread, any signal handler.
  void RequestAttention();

  // From EnterNative() on the thread stands, and its next allocation comes to the slow path, which
  // refuses it.  LeaveNative() waits for a collection that is going on, and ends this state.
  void EnterNative();
  void LeaveNative();
  bool runs() const { return state.load(std::memory_order_relaxed) == MutatorState::kRunning; }

  // Aborts in a NoAllocation scope or a NativeRegion, with the rule that was broken.
  void CheckMayAllocate() const;

  // Called by the world, under its mutex.  Between the two calls the sampler is told of sessions,
  // and profilers read the clock.
  void JoinTracker();
  void LeaveTracker();

  // Counts the allocations since the last call.
  void Sync();
  // inv.limit: sets the limit to the end of the grant, to the next sample, or to 0 if the thread's
  // attention is wanted.
  void PublishLimit();

  // Collector: called while the thread stands.
  size_t used_bytes() const { return window->cursor - nursery_start(); }
  uintptr_t nursery_start() const { return reinterpret_cast<uintptr_t>(nursery); }
  void EmptyNursery(size_t granted);
  void TrimRoots();
  template <typename Visit>
  void ForEachRoot(Visit visit) {
    for (Slot* slot = roots; slot != window->root_top; ++slot) {
      if (IsReference(*slot)) visit(*slot);
    }
    for (const RootRange& range : ranges) {
      for (size_t i = 0; i < *range.count; ++i) visit(range.slots[i]);
    }
  }
  // Calls visit(Slot*, index) for the roots that are not null, for snapshots.
  template <typename Visit>
  void ForEachLocal(Visit visit) {
    for (Slot* slot = roots; slot != window->root_top; ++slot) {
      if (IsReference(*slot)) visit(slot, static_cast<uint64_t>(slot - roots));
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
  // Stored by the thread itself, under the world's mutex.
  std::atomic<MutatorState> state{MutatorState::kOutside};
  char* nursery = nullptr;
  size_t nursery_bytes = 0;
  // inv.reserve: the nursery may be filled up to here, because so many bytes can be promoted.
  size_t granted_bytes = 0;
  uintptr_t synced = 0;          // Sync() has counted up to here
  uint64_t allocated_words = 0;  // in the nursery, since the thread was attached
  heap_client::ManagedSampler sampler;
  AllocationClock clock;  // of the cursor; large objects and custom blocks are added
  Slot* roots = nullptr;  // the first root slot
  Slot** log = nullptr;   // the first remembered slot
  Vector<RootRange> ranges;
  Vector<Object*> weaks;          // ephemerons made or set since the last minor collection
  Vector<Slot*> noted_for_check;  // debug builds: the slots that the log must have (inv.remembered)
  uint32_t no_allocation = 0;     // open NoAllocation scopes
  uint32_t stress_count = 0;
  bool in_finalizer = false;
  std::atomic<bool> requested{false};  // RequestAttention() was called since on_request ran
  void* root_memory = nullptr;
  Slot* free_roots = nullptr;  // dead slots that TakeRootSlow() hands out
  size_t log_capacity = 0;
  char* second_half = nullptr;  // of the nursery, in stress mode

  static bool IsReference(Slot slot) {
    return (reinterpret_cast<uintptr_t>(slot) & 1) == 0 && PointsToObject(slot);
  }

 private:
  // Judges and reports one block.  Returns the handle, 0 if it is not followed.
  heap_client::BlockHandle Sample(const Request& request, FrameState caller);
  void Attend();
  bool MayRunRequest() const;
  void RunRequest();
  void MakeRoom(size_t bytes);
  bool Fits(size_t bytes) const { return used_bytes() + bytes <= granted_bytes; }
  bool WantsAttention() const;
};

// Registered ranges of roots of this thread: slots[0, *count).
void AddValueStack(Slot* slots, const size_t* count);
void RemoveValueStack(const Slot* slots);
// The stack that was registered at `slots` begins at `to` from now on.
void MoveValueStack(const Slot* slots, Slot* to);

// The mutator of this thread; aborts with the rule when the thread is not attached.
Mutator& CurrentMutator();

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_
