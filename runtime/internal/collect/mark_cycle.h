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
// Work() does a piece of any phase, on any thread.  Begin() and Pause() do the steps that need the
// stopped world; a minor collection calls them at its end.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARK_CYCLE_H_
#define ALLOMON_RUNTIME_INTERNAL_MARK_CYCLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/internal/space/large_space.h"
#include "runtime/internal/collect/mark_slices.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/object/object.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class HeapCore;
class Mutator;
struct Chunk;
enum class MarkMode { kWhole, kInSlices };  // marker.h
template <MarkMode kMode>
class Marker;
using SliceMarker = Marker<MarkMode::kInSlices>;

class MarkCycle {
 public:
  explicit MarkCycle(HeapCore& heap);
  ~MarkCycle();
  MarkCycle(const MarkCycle&) = delete;
  MarkCycle& operator=(const MarkCycle&) = delete;

  // Any thread.
  bool is_active() const { return phase() != Phase::kIdle; }
  bool is_sweeping() const { return phase() == Phase::kSweep; }
  // Whether the barriers note overwritten references.  Changes while the world is stopped.
  bool is_marking() const { return phase() == Phase::kClear || phase() == Phase::kMark; }

  // --- Called while the world is stopped.  The caller has a Hold and the heap's mutexes, and a
  // minor collection has left only young objects that stay.

  // Returns false without memory; then nothing has changed.
  bool Begin() ALLOMON_REQUIRES(mutex_);
  // Continues for a time that keeps the pause short, and ends the marking if all is marked.  Ends
  // the collection if the program makes objects old faster than it marks.
  void Pause(uint64_t pause_start_ns) ALLOMON_REQUIRES(mutex_);
  // Ends the collection.
  void Complete() ALLOMON_REQUIRES(mutex_);

  // --- Mutators.

  // Requests that the object be marked, as if the snapshot had a reference to it.  Called by
  // barriers; never fails.  Cost: a store; every 512th call marks as many objects.
  void Note(Mutator& mutator, Object* object) ALLOMON_EXCLUDES(mutex_);
  // Returns the grown bytes at which the next collection begins.
  uint64_t StartBytes(uint64_t threshold_bytes) const {
    return pacing_.StartBytes(threshold_bytes);
  }
  // Whether the program makes objects old faster than the collection marks them.  The world is
  // stopped.
  bool IsLate(uint64_t grown_bytes) const { return is_active() && pacing_.IsLate(grown_bytes); }

  // Returns the grown bytes at which the next pause of the collection comes.
  uint64_t next_pause_bytes() const { return next_pause_bytes_.load(std::memory_order_relaxed); }

  // --- For the marking thread, a collector that has stopped the world.

  // Notes a slot of an old object that points to a young one.
  void NoteYoungSlot(Object*& slot);
  // The young object is reachable.
  void Reach(Object* object);
  // Returns false if the object had tenure when the collection began and has not been reached
  // since.
  bool YoungLives(const Object* object) const;
  // Returns the number of young objects for which YoungLives() has become true.
  size_t n_reached() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return reached_.size(); }

  // Held during a slice, and by collectors while the world is stopped.
  class Hold;

  // --- The helper (mark_helper.h).

  // Does a piece of work; false if no work can be done while the program runs.  Frees memory
  // without the mutex, so that collectors can continue meanwhile.
  bool WorkForHelper() ALLOMON_EXCLUDES(mutex_);

  void LockForFork();
  void UnlockAfterFork();
  void ResetInForkedChild();

 private:
  enum class Phase : uint8_t { kIdle, kClear, kMark, kSweep, kRelease };

  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  void EnterPhase(Phase phase) { phase_.store(phase, std::memory_order_relaxed); }

  // Memory to free, which may take some milliseconds.
  struct Rubbish {
    LargeSpace::Dead large;
    Chunk* chunk = nullptr;
    bool Free();  // false if there was none
  };

  // Works until stop() or until there is rubbish; false if no work is left.
  template <typename Stop>
  bool Work(Stop stop, Rubbish& rubbish) ALLOMON_REQUIRES(mutex_);
  template <typename Stop>
  bool WorkAndFree(Stop stop) ALLOMON_REQUIRES(mutex_);
  template <typename Stop>
  bool SweepUntil(Stop stop, Rubbish& rubbish) ALLOMON_REQUIRES(mutex_);

  // A young object that stayed in its place when the collection began, and whether it has been
  // reached.  The references that it had then are `count` entries of held_slots_.
  struct Held {
    Object* object;
    size_t first;
    size_t count;
    bool reached;
  };

  bool HoldStays() ALLOMON_REQUIRES(mutex_);
  bool AddHeldSlots(Object* object) ALLOMON_REQUIRES(mutex_);
  const Held* FindHeld(const Object* object) const;
  void ReachOne(Object* object);
  void MarkRoot(Object* object);
  bool AddRoots();
  void DropDeadStays() ALLOMON_REQUIRES(mutex_);
  void TellMutators(bool marking);
  void TakeNotes() ALLOMON_REQUIRES(mutex_);
  void MarkNotes(Mutator& mutator) ALLOMON_REQUIRES(mutex_);
  void ClearSome() ALLOMON_REQUIRES(mutex_);
  template <typename Stop>
  bool TryToEnd(Stop stop) ALLOMON_REQUIRES(mutex_);
  void ReviveDueLocked();
  void EndMarking();
  bool WasThere(Object* object) const;
  bool LiesInLiving(Object** slot) ALLOMON_REQUIRES(mutex_);
  void FilterSlots(Vector<Object**>& slots) ALLOMON_REQUIRES(mutex_);
  void RestrictTenure() ALLOMON_REQUIRES(mutex_);
  void EndSweep() ALLOMON_REQUIRES(mutex_);
  template <typename Stop>
  void GoOn(Stop stop) ALLOMON_REQUIRES(mutex_);

  HeapCore& heap_;
  std::atomic<Phase> phase_{Phase::kIdle};  // changes under mutex_; kClear becomes kMark while
                                            // mutators run
  std::atomic<uint64_t> next_pause_bytes_{0};

  Mutex mutex_;
  Condition let_go_;
  std::atomic<int> wanted_{0};  // number of collectors that wait for mutex_ or hold it
  // The marker of the current collection.  A pointer, since this header does not see its type.
  const std::unique_ptr<std::optional<SliceMarker>> marker_ ALLOMON_PT_GUARDED_BY(mutex_);
  bool lacks_room_ ALLOMON_GUARDED_BY(mutex_) = false;  // no memory to note roots
  bool finalizers_revived_ ALLOMON_GUARDED_BY(mutex_) = false;
  bool large_swept_ ALLOMON_GUARDED_BY(mutex_) = false;
  Vector<Held> held_ ALLOMON_GUARDED_BY(mutex_);  // sorted by address
  Vector<Object*> held_slots_ ALLOMON_GUARDED_BY(mutex_);
  Vector<Held*> reached_ ALLOMON_GUARDED_BY(mutex_);  // has room for all of held_
  size_t n_followed_ ALLOMON_GUARDED_BY(mutex_) = 0;  // followed entries of reached_
  // Slots of old objects that have pointed to young ones since the collection began.  Without
  // memory to note them no object loses its tenure.
  Vector<Object**> young_slots_ ALLOMON_GUARDED_BY(mutex_);
  bool keeps_tenure_ ALLOMON_GUARDED_BY(mutex_) = false;

  MarkPacing pacing_;
  uint64_t snapshot_words_ = 0;  // words of chunks and large objects when the collection began
  size_t keep_free_blocks_ = 0;
};

// Takes the cycle's mutex for a collector.  A slice of the helper releases it within microseconds.
class ALLOMON_SCOPED_LOCKABLE MarkCycle::Hold {
 public:
  explicit Hold(MarkCycle& cycle) ALLOMON_ACQUIRE(cycle.mutex_) : cycle_(cycle) {
    cycle_.wanted_.fetch_add(1, std::memory_order_relaxed);
    cycle_.mutex_.lock();
  }
  ~Hold() ALLOMON_RELEASE() {
    cycle_.wanted_.fetch_sub(1, std::memory_order_relaxed);
    cycle_.mutex_.unlock();
    cycle_.let_go_.NotifyAll();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  MarkCycle& cycle_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_CYCLE_H_
