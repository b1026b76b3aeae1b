// The objects that trackers follow.  See "Sampling" in runtime/README.md.
//
// order_ lists the live objects that a collection has seen.  Those in the young range are its
// suffix (inv.sample.suffix), so a minor collection reads only the suffix, and a major one reads
// the whole list.  Objects that no collection has seen yet are in the lists of their mutators
// (NewSamples) and in new_; most of them die there, and never get an entry.  A collection only
// notes the callbacks that are due.  They run later, at a safepoint, in the order in which they
// were noted.
//
// inv.sample.order: for one object, the promote callback comes before the dealloc callback, one at
// a time.  A thread that runs a callback of an entry also runs the callbacks of the entry that fall
// due meanwhile.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_SAMPLE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_SAMPLE_TABLE_H_

#include <atomic>
#include <exception>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/tables/new_samples.h"
#include "tracker/base/mutex.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class SampleTable {
 public:
  // Makes room in every list for one object at least, and promises it.  Neither the use of the room
  // nor a collection allocates.  Returns false without memory.  Called by the mutator that owns
  // `own`.
  [[nodiscard]] bool Promise(NewSamples& own) { return own.TryPromise() || PromiseSlow(own); }
  // Follows an object that was born old, in promised room.  Runs no user code, so the caller may
  // hold an object that has no header yet.
  void AddOld(NewSamples& own, Object* object, heap_client::BlockHandle handle);
  // Takes over the objects that a mutator has made; the mutator keeps its promised room.  Called by
  // the mutator or by a collector.
  void Take(NewSamples& own);
  // Takes over the objects of a mutator that detaches, and its promised room.
  void Leave(NewSamples& own);

  // Called after a minor collection has moved the survivors, or after marking.  All mutators'
  // samples have been taken over.
  void AfterMinor();
  template <typename IsMarked>
  void AfterMajor(IsMarked is_marked);
  // Notes the death of all objects, when the heap is destroyed.
  void AllDie();

  // Whether callbacks are due.  Any thread.
  bool any_due() const { return due_count_.load(std::memory_order_relaxed) != 0; }
  // Runs the callbacks that are due, until one throws: then *thrown is set, and the other callbacks
  // stay due.  Any thread outside callbacks; no lock is held while user code runs.
  void RunDue(std::exception_ptr* thrown);

 private:
  using Index = uint32_t;
  struct Entry {
    Object* object;
    heap_client::BlockHandle handle;  // 0: no tracker follows the object any more
    bool old;                         // the promotion was noted, or the object was born old
    bool promote_due;
    bool dead;
    bool queued;
    bool running;
  };
  // A due action: the callbacks of an entry, or the dealloc of an object that never got an entry.
  struct Due {
    Index index;
    heap_client::BlockHandle dead;  // 0: an entry's
  };

  bool PromiseSlow(NewSamples& own);
  bool EnsureRoom(size_t more) ALLOMON_REQUIRES(mutex_);
  void TakeLocked(NewSamples& own) ALLOMON_REQUIRES(mutex_);
  void GiveRoomBack(NewSamples& own, uint32_t room) ALLOMON_REQUIRES(mutex_);
  void AddEntry(const Entry& entry) ALLOMON_REQUIRES(mutex_);
  // Notes what a minor collection has done to an object; returns false if the object has died.
  bool NoteMinor(Entry* entry) ALLOMON_REQUIRES(mutex_);
  void NoteMinorOfNew() ALLOMON_REQUIRES(mutex_);
  Index TakeEntry() ALLOMON_REQUIRES(mutex_);
  void Queue(Index index) ALLOMON_REQUIRES(mutex_);
  void PushDue(Due due) ALLOMON_REQUIRES(mutex_);
  Due PopDue() ALLOMON_REQUIRES(mutex_);
  void RunDead(heap_client::BlockHandle dead, std::exception_ptr* thrown) ALLOMON_REQUIRES(mutex_);
  void RunEntry(Index index, std::exception_ptr* thrown) ALLOMON_REQUIRES(mutex_);
  void FinishEntry(Index index) ALLOMON_REQUIRES(mutex_);
  bool RunOne(Index index, std::exception_ptr* thrown) ALLOMON_REQUIRES(mutex_);
  bool YoungAreTheSuffix() const ALLOMON_REQUIRES(mutex_);
  void MoveYoungBack(size_t from) ALLOMON_REQUIRES(mutex_);

  Mutex mutex_;
  Vector<Entry> entries_ ALLOMON_GUARDED_BY(mutex_);
  Vector<Index> free_ ALLOMON_GUARDED_BY(mutex_);
  Vector<Index> order_ ALLOMON_GUARDED_BY(mutex_);
  size_t first_young_ ALLOMON_GUARDED_BY(mutex_) = 0;  // index into order_
  Vector<NewSample> new_ ALLOMON_GUARDED_BY(mutex_);   // samples of the mutators from before this
                                                       // collection
  size_t reserved_ ALLOMON_GUARDED_BY(mutex_) = 0;     // the room of all mutators
  size_t due_dead_ ALLOMON_GUARDED_BY(mutex_) = 0;     // entries of due_ without a table entry
  // A ring of due actions, large enough for all followed objects (inv.sample.room).
  Vector<Due> due_ ALLOMON_GUARDED_BY(mutex_);
  size_t due_head_ ALLOMON_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> due_count_{0};  // written under mutex_
};

template <typename IsMarked>
void SampleTable::AfterMajor(IsMarked is_marked) {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.sample.suffix", YoungAreTheSuffix());
  size_t kept = 0;
  for (const Index index : order_) {
    Entry& entry = entries_[index];
    if (is_marked(entry.object)) {
      order_[kept++] = index;
    } else {
      entry.dead = true;
      Queue(index);
    }
  }
  order_.resize(kept);
  MoveYoungBack(0);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_SAMPLE_TABLE_H_
