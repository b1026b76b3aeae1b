// The implementation of a heap: its spaces, threads and tables, and the measures it takes when
// memory is short.
#ifndef ALLOMON_RUNTIME_INTERNAL_HEAP_CORE_H_
#define ALLOMON_RUNTIME_INTERNAL_HEAP_CORE_H_

#include <atomic>

#include "runtime/heap_options.h"
#include "runtime/heap_statistics.h"
#include "runtime/internal/space/block_space.h"
#include "runtime/internal/tables/identity_table.h"
#include "runtime/internal/space/large_space.h"
#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/mark_helper.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/space/nursery_share.h"
#include "runtime/internal/tables/sample_table.h"
#include "runtime/internal/stacks/thread_stack.h"
#include "runtime/internal/tables/weak_table.h"
#include "runtime/internal/collect/world.h"
#include "runtime/internal/space/young_space.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

static_assert(HeapOptions::kLeastLimitBytes == kChunkBytes, "a heap has one chunk at least");

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

// Visits the live objects of a heap, between two collections.  Must not call malloc, whose samples
// run user code, which could wait for a thread that stands.
class LiveObjectsVisitor {
 public:
  virtual ~LiveObjectsVisitor() = default;
  // Called once, while the world stands still.  The marks of the spaces are exactly those of the
  // live objects.
  virtual void Look(HeapCore& heap) = 0;
};

class HeapCore {
 public:
  explicit HeapCore(const HeapOptions& options);
  ~HeapCore();
  HeapCore(const HeapCore&) = delete;
  HeapCore& operator=(const HeapCore&) = delete;

  // Threads.  Attach returns nullptr when there is no memory for another nursery.
  Mutator* Attach();
  void Detach(Mutator* mutator);

  // Collects; this thread has stopped the world.  `mutator` is the thread's own mutator, or nullptr
  // for a thread that does not run in this heap.
  enum class OwnStack { kKeeps, kKeepsNothing };  // the native stack of the calling thread
  void Collect(CollectionKind kind, Mutator* mutator, OwnStack own_stack = OwnStack::kKeeps);
  // Collects kMajor, and calls the visitor before the world resumes.  Throws std::bad_alloc.
  void CollectAndLook(LiveObjectsVisitor& visitor, Mutator* mutator);
  // Empties the nurseries, the caller's included, unless another thread's collection has just
  // emptied them.  A major collection follows if one is due.
  void CollectForRoom(Mutator& mutator);
  // Called when a major collection is due: collects in one pause, begins a collection in slices, or
  // continues the one in progress.
  void CollectForGrowth(Mutator& mutator);

  // Whether a major collection must precede `bytes` more of large objects, and whether the limit
  // allows these bytes.
  bool WantsMajor(size_t bytes) const;
  // Derives the threshold of the next major collection from the bytes that live now.  The world is
  // stopped.
  void SetMajorThreshold();
  // Returns the free blocks that the program will need until the next major collection.
  size_t BlocksToKeep();
  // Sweeps a chunk; false if no chunk is left.  The caller holds the cycle's mutex.
  bool SweepNextChunk();
  bool LimitAllows(size_t bytes);
  // Takes a block of kBlockBytes of the old space for objects that are born old; nullptr when the
  // limit or the system allows no further block.  A safepoint of the mutator's thread, without
  // callbacks.
  char* TakeOldBlock(Mutator* mutator);
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
  uint32_t TakeSeed() { return seeds_.fetch_add(1, std::memory_order_relaxed) + 1; }
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

  HeapStatistics Statistics(Mutator* mutator);

  // Used around fork: the world is stopped, and no other thread holds a lock of the heap, so the
  // child finds the heap consistent.
  void StopForFork();
  void LockForFork();
  void AfterForkInParent();
  void AfterForkInChild();

  HeapOptions options;
  // False for tests: no native stack keeps anything, so deaths are exact.  Written while no other
  // thread collects.
  bool scans_stacks = true;
  World world;
  CoroutineStacks coroutines;
  YoungSpace young;
  // inv.remembered: slots of old objects that point to young objects which stay without tenure.
  Vector<Slot*> remembered;
  Vector<Object*> left_weaks;         // Mutator::weaks of detached threads
  Vector<Object*> coroutine_objects;  // objects that the last marking has found on registered
                                      // stacks
  BlockSpace blocks;
  LargeSpace large;
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

  MarkCycle cycle{*this};

  HeapCore* previous_heap = nullptr;  // list of all heaps, for fork
  HeapCore* next_heap = nullptr;

 private:
  // Collects; this thread has stopped the world.  `due`: a major collection is due, even if `kind`
  // is kMinor. Returns false if a major collection had no memory to mark with.
  bool RunCollection(CollectionKind kind, bool due = false);
  bool MajorStopped() ALLOMON_REQUIRES(globals_mutex, tables_mutex);
  bool MajorPart(CollectionKind kind, bool due, uint64_t pause_start_ns);
  bool MayMarkInSlices();
  void ResumeAfterCollection();
  size_t WantedBytes(const Mutator& mutator);
  void ResizeNurseries();
  void LeaveHeap(Mutator& mutator);
  bool GrowReserve();
  void GrantNurseries();
  void MakeReserve();
  char* TakeSpareBlock();
  bool GrantedFits() const;
  size_t GrantedBytes() const;
  size_t NurseryBytes();
  bool GrowTo(size_t free_blocks);
  void CountPause(CollectionKind kind, uint64_t ns);
  void UnlockAfterFork();
  bool ReleaseOneCustom();
  bool RunOneFinalizer(Mutator* mutator);

  size_t nursery_bytes_;
  NurseryShare share_;
  std::atomic<uint32_t> seeds_{0};
  // inv.reserve: this many free blocks are reserved for the next collection.  Written while the
  // world is stopped.
  size_t reserve_blocks_ = 0;
  // Running threads take free blocks under this mutex; a collector does so when all threads stand.
  Mutex blocks_mutex_;
  // The last member: its thread must end before any other member is destroyed.
  MarkHelper helper_{cycle, blocks.stock()};
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_HEAP_CORE_H_
