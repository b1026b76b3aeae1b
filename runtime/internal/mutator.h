// A thread of a managed heap: its nursery, its roots, its remembered slots, its sampler.
#ifndef ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_
#define ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
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

// An allocation, as the sampling law and the callbacks see it.
struct Request {
  uint64_t trial_words;  // header included
  uint64_t size_bytes;   // without header, as the callback shall see it
  AllocationSource source;
  bool young;
};

class Mutator {
 public:
  // Takes a nursery and the root stack; false when there is no memory for them.  On the
  // thread itself, as all functions up to "Collector".
  bool Init(HeapCore* heap, size_t nursery_bytes);
  // Only after LeaveTracker(), if the world ever had it.
  ~Mutator();
  Mutator() = default;
  Mutator(const Mutator&) = delete;
  Mutator& operator=(const Mutator&) = delete;

  // `bytes` of the nursery, header included; at most kMaxYoungBytes + 8.  The caller
  // writes the object and then its header, without another allocation in between.
  // Throws std::bad_alloc, or the exception of a callback; then nothing was allocated.
  char* AllocateYoungSlow(size_t bytes, AllocationSource source, FrameState caller);
  // An object born old: zero-filled, the header to be written by the caller.
  Object* AllocateLargeSlow(uint64_t words, uint64_t size_bytes, AllocationSource source,
                            FrameState caller);
  // Judges and reports the out-of-heap bytes of the custom block in `root`.
  void SampleCustom(const Slot* root, uint64_t bytes, FrameState caller);

  // Lets collections and callbacks happen.  Throws the exception of a callback.
  void SafepointSlow();

  // Asks for options.on_request at the next safepoint.  Any thread, any signal handler.
  void RequestAttention();

  // From now on the thread stands, and the next allocation comes to the slow path, which refuses
  // it; until LeaveNative() has waited for the collection that may be going on.
  void EnterNative();
  void LeaveNative();
  bool runs() const { return state.load(std::memory_order_relaxed) == MutatorState::kRunning; }

  // Aborts with the rule in a NoAllocation scope or a NativeRegion.
  void CheckMayAllocate() const;

  // By the world, under its mutex: from the first to the second the sampler hears of sessions, and
  // profilers read the clock.
  void JoinTracker();
  void LeaveTracker();

  // Counts what was allocated since the last time.
  void Sync();
  // inv.limit: sets the limit to the end of the grant, the next sample, or 0 if the thread is
  // wanted.
  void PublishLimit();

  // Collector: the thread stands.
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

  HeapCore* heap = nullptr;
  Window* window = nullptr;
  Mutator* next = nullptr;  // the world's list
  // Written by the thread itself, under the world's mutex.
  std::atomic<MutatorState> state{MutatorState::kOutside};
  char* nursery = nullptr;
  size_t nursery_bytes = 0;
  // inv.reserve: the nursery may be filled up to here, since so much can be promoted.
  size_t granted_bytes = 0;
  uintptr_t synced = 0;          // Sync() has counted up to here
  uint64_t allocated_words = 0;  // in the nursery, since the thread was attached
  heap_client::ManagedSampler sampler;
  AllocationClock clock;  // of the cursor; large objects and custom blocks are added
  Slot* roots = nullptr;  // the first root slot
  Slot** log = nullptr;   // the first remembered slot
  Vector<RootRange> ranges;
  Vector<Object*> weaks;          // ephemerons made or set since the last minor collection
  Vector<Slot*> noted_for_check;  // debug builds: what the log must have (inv.remembered)
  uint32_t no_allocation = 0;     // open NoAllocation scopes
  uint32_t stress_count = 0;
  bool in_finalizer = false;
  std::atomic<bool> requested{false};  // RequestAttention() was called since on_request ran
  void* root_memory = nullptr;
  Slot* free_roots = nullptr;  // dead slots that TakeRootSlow() hands out
  size_t log_capacity = 0;
  char* second_half = nullptr;  // of the nursery, in stress mode

  static bool IsReference(Slot slot) {
    return (reinterpret_cast<uintptr_t>(slot) & 1) == 0 && slot != nullptr;
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

// The mutator of this thread; fails with the rule when it is not attached.
Mutator& CurrentMutator();

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MUTATOR_H_
