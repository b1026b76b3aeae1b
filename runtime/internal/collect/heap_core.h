// A heap without its public face: the spaces, the threads, the tables.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_HEAP_CORE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_HEAP_CORE_H_

#include <atomic>
#include <functional>
#include <optional>

#include "runtime/heap_options.h"
#include "runtime/heap_statistics.h"
#include "runtime/internal/collect/card_locks.h"
#include "runtime/internal/collect/collector_choice.h"
#include "runtime/internal/collect/collector_team.h"
#include "runtime/internal/collect/mark_helper.h"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/collect/spaces.h"
#include "runtime/internal/collect/world.h"
#include "runtime/internal/space/nursery_share.h"
#include "runtime/internal/stacks/thread_stack.h"
#include "runtime/internal/tables/identity_table.h"
#include "runtime/internal/tables/sample_table.h"
#include "runtime/internal/tables/weak_table.h"
#include "tracker/base/memory_limit.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

static_assert(HeapOptions::kLeastLimitBytes == kChunkBytes, "a heap has one chunk at least");
static_assert(HeapOptions::kMostCollectors <= BlockSpace::kMostLanes, "each has a lane");
static_assert(HeapOptions::kMostCollectors <= CollectorTeam::kMostThreads + 1);

class HeapCore;

// A root that belongs to no thread.  It is in the heap's list while it lives.
struct GlobalNode {
  Slot object = nullptr;
  const char* name = nullptr;  // for snapshots; not owned
  GlobalNode* previous = nullptr;
  GlobalNode* next = nullptr;
};

// Memory of a container of Locals (locals.h), in front of its slots: all of them are roots.
struct RootBlock {
  size_t count;
  RootBlock* previous;
  RootBlock* next;
  HeapCore* heap;
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
};

class HeapCore : public Spaces {
 public:
  explicit HeapCore(const HeapOptions& options);
  ~HeapCore();
  HeapCore(const HeapCore&) = delete;
  HeapCore& operator=(const HeapCore&) = delete;

  // Whether a major collection has to come before `bytes` more of large objects, and whether the
  // limit allows these bytes.
  bool WantsMajor(size_t bytes) const;
  // Derives the threshold of the next major collection from the bytes that live now.  The world is
  // stopped.
  void SetMajorThreshold();
  // Looks whether the memory of the process's cgroup is nearly used up, if it is time to, and
  // lowers the threshold if it is.  The world is stopped.
  void HeedPressure(uint64_t now_ns);
  // Sweeps a chunk; false if there was none.  The caller holds the cycle's mutex.
  bool SweepNextChunk();
  bool LimitAllows(size_t bytes);
  // Whether several threads may do the next minor collections, and whether they may do those or the
  // next markings.  The world is stopped.
  bool WantsCollectors() const { return n_collectors > 1 && choice.ExpectsEnough(); }
  bool WantsTeam() const {
    return n_collectors > 1 && (choice.ExpectsEnough() || mark_choice.ExpectsEnough());
  }
  // Starts the threads for that, which calls malloc.  Called by a thread that has not stopped a
  // world.
  void StartCollectors();
  // Ends the mutators that their threads have left, when the heap ends.
  void EndLeft();
  // Whether a major collection may be done in slices: the heap is large enough and far from its
  // limit.
  bool MayMarkInSlices();
  // Makes a large object of `words`, as LargeSpace::Allocate() does; nullptr when the limit does
  // not allow it.
  Object* AllocateLarge(uint64_t words);
  // Words in the old space, dead ones included until a major collection finds them.
  uint64_t OldWords() const {
    return statistics.promoted_words + born_old_words - statistics.freed_old_words;
  }
  void CountBornOld(uint64_t words, size_t bytes);
  // Returns a different seed for each mutator; the same in each run of a program that makes its
  // threads in the same order.
  uint32_t TakeSeed() { return seeds.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Asks the program for memory; false if the program has no handler, or its handler refuses.
  bool AskForMemory(size_t bytes);

  // Pending work: the tracker callbacks, releases of custom blocks and finalizers that collections
  // have found due.  Safepoints run it.  RunDue() throws the exception of one action; the others
  // stay due.
  bool AnyDue() const;
  void RunDue(Mutator* mutator);

  void AddRootBlock(RootBlock* block);
  void RemoveRootBlock(RootBlock* block);
  void AddGlobal(GlobalNode* node);
  void RemoveGlobal(GlobalNode* node);
  // Throws std::bad_alloc.
  void AddFinalizer(Object* object, std::function<void(Object*)> run);
  // Reserves one custom block; one of the other functions ends the reservation.  Throws
  // std::bad_alloc.
  void ReserveCustom();
  void UnreserveCustom();
  void AddCustom(const CustomBlockEntry& entry);

  HeapOptions options;
  // False for tests: no native stack keeps anything, so deaths are exact.  Written while no other
  // thread collects.
  bool scans_stacks = true;
  World world;
  CoroutineStacks coroutines;
  Vector<Object*> left_weaks;         // Mutator::weaks of threads that have gone
  Mutator* gone = nullptr;            // mutators to be deleted; guarded by the stopped world
  Vector<Object*> coroutine_objects;  // that the last marking has found on registered stacks
  SampleTable samples;
  HeapStatistics statistics;  // the counts of collections; guarded by the stopped world

  Mutex globals_mutex;
  GlobalNode globals ALLOMON_GUARDED_BY(globals_mutex);     // a ring
  RootBlock root_blocks ALLOMON_GUARDED_BY(globals_mutex);  // a ring

  Mutex tables_mutex;
  WeakTable<Finalizer> finalizers ALLOMON_GUARDED_BY(tables_mutex);
  WeakTable<CustomBlockEntry> customs ALLOMON_GUARDED_BY(tables_mutex);
  IdentityTable identities;  // written under tables_mutex
  std::atomic<size_t> due_actions{0};
  std::atomic<uint64_t> custom_bytes{0};

  // The bytes (custom ones included) that became old since the last major collection, and the
  // threshold at which the next one starts.
  std::atomic<uint64_t> grown_bytes{0};
  uint64_t major_threshold_bytes = 0;
  uint64_t major_start_bytes = 0;  // the threshold of a collection in slices, which starts a little
                                   // earlier
  std::atomic<uint64_t> born_old_words{0};

  allomon::internal::MemoryLimit memory_limit{allomon::internal::MemoryLimit::Bound::kSlows};
  uint64_t next_look_ns = 0;    // at memory_limit
  bool under_pressure = false;  // by the last look

  // Of the collection in slices that goes on.
  std::optional<SliceMarker> slice_marker ALLOMON_GUARDED_BY(cycle.mutex);

  std::atomic<uint32_t> seeds{0};  // that were taken

  HeapCore* previous_heap = nullptr;  // list of all heaps, for fork
  HeapCore* next_heap = nullptr;

  const size_t nursery_bytes;
  NurseryShare share;
  const size_t n_collectors;    // threads that may collect, with the collecting one
  CollectorChoice choice;       // of minor collections
  CollectorChoice mark_choice;  // of markings while the world is stopped
  // inv.reserve: so many free blocks are for the next collection.  Written while the world is
  // stopped.
  size_t reserve_blocks = 0;
  // Threads that run take free blocks under it; a collector does when they stand.
  Mutex blocks_mutex;

  // The last members: their threads end before anything else does.
  CardLocks cards;
  CollectorTeam team;
  MarkHelper helper{*this, blocks.stock()};
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_HEAP_CORE_H_
