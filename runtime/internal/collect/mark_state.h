// The state of a collection in slices (mark_cycle.h): its phase, the objects that stay, the slots
// that it has noted.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STATE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STATE_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/collect/mark_slices.h"
#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_space.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class MarkState {
 public:
  enum class Phase : uint8_t { kIdle, kClear, kMark, kSweep, kRelease };

  // A young object that stayed in its place when the collection began, and whether it has been
  // reached.  What it referred to then are `count` entries of held_slots_.
  struct Held {
    Object* object;
    size_t first;
    size_t count;
    bool reached;
  };

  // Any thread.
  bool is_active() const { return phase() != Phase::kIdle; }
  bool is_sweeping() const { return phase() == Phase::kSweep; }
  // Whether the barriers note overwritten references.  Changes while the world is stopped.
  bool is_marking() const { return phase() == Phase::kClear || phase() == Phase::kMark; }
  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  // Under the mutex; kClear to kMark beside mutators.
  void EnterPhase(Phase phase) { phase_.store(phase, std::memory_order_relaxed); }

  // The bytes at which the next collection begins.
  uint64_t StartBytes(uint64_t threshold_bytes) const { return pacing.StartBytes(threshold_bytes); }
  // Whether the program makes objects old faster than they are marked.  The world is stopped.
  bool IsLate(uint64_t grown_bytes) const { return is_active() && pacing.IsLate(grown_bytes); }
  // Whether the marking has let the program make much old.  The world is stopped.
  bool IsUrgent(uint64_t grown_bytes) const { return is_marking() && pacing.IsUrgent(grown_bytes); }

  // --- The thread that marks, a collector that has stopped the world.

  // The slot, of an old object, points to a young one.
  void NoteYoungSlot(Object*& slot);
  // Such a slot was not noted, without memory for it.
  void KeepTenure() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { keeps_tenure = true; }
  // Begins with the objects that stay now; false without memory.
  bool HoldStays(YoungSpace& young) ALLOMON_REQUIRES(mutex);
  // The object, if it is one of those, is reachable.
  void ReachOne(Object* object);
  // A reached object whose slots are to be visited; nullptr if there is none.
  const Held* TakeReached() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    return n_followed_ < reached_.size() ? reached_[n_followed_++] : nullptr;
  }
  Object* HeldSlot(size_t index) const ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    return held_slots_[index];
  }
  // False if the object had tenure when the collection began, and has not been reached since.
  bool YoungLives(const Object* object) const;
  // The young objects for which YoungLives() has become true.
  size_t n_reached() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return reached_.size(); }

  // Held by a slice, and by collectors while the world is stopped.
  class Hold;

  void LockForFork();
  void UnlockAfterFork();
  void ResetInForkedChild();

  Mutex mutex;
  Condition let_go;
  std::atomic<int> wanted{0};                 // collectors that wait for mutex, or hold it
  std::atomic<uint64_t> next_pause_bytes{0};  // at which the next pause of the collection comes
  bool lacks_room = false;                    // for roots
  bool finalizers_revived ALLOMON_GUARDED_BY(mutex) = false;
  bool large_swept ALLOMON_GUARDED_BY(mutex) = false;
  // Slots of old objects that have pointed to young ones since the beginning.  Without memory for
  // them no object loses its tenure.
  Vector<Object**> young_slots ALLOMON_GUARDED_BY(mutex);
  bool keeps_tenure ALLOMON_GUARDED_BY(mutex) = false;

  MarkPacing pacing;
  uint64_t snapshot_words = 0;  // of chunks and large objects, when the collection began
  size_t keep_free_blocks = 0;

 private:
  bool AddHeldSlots(Object* object) ALLOMON_REQUIRES(mutex);
  const Held* FindHeld(const Object* object) const;

  std::atomic<Phase> phase_{Phase::kIdle};
  Vector<Held> held_ ALLOMON_GUARDED_BY(mutex);  // by address
  Vector<Object*> held_slots_ ALLOMON_GUARDED_BY(mutex);
  Vector<Held*> reached_ ALLOMON_GUARDED_BY(mutex);  // has room for all of held_
  size_t n_followed_ ALLOMON_GUARDED_BY(mutex) = 0;  // of reached_
};

// Takes the cycle's mutex for a collector.  A slice of the helper lets it go within microseconds.
class ALLOMON_SCOPED_LOCKABLE MarkState::Hold {
 public:
  explicit Hold(MarkState& cycle) ALLOMON_ACQUIRE(cycle.mutex) : cycle_(cycle) {
    cycle_.wanted.fetch_add(1, std::memory_order_relaxed);
    cycle_.mutex.lock();
  }
  ~Hold() ALLOMON_RELEASE() {
    cycle_.wanted.fetch_sub(1, std::memory_order_relaxed);
    cycle_.mutex.unlock();
    cycle_.let_go.NotifyAll();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  MarkState& cycle_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STATE_H_
