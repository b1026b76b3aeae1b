// The objects that trackers follow.  See "Sampling" in runtime/README.md.
//
// order_ lists the live objects.  Those in the young range are its suffix (inv.sample.suffix), so a
// minor collection reads only the suffix, and a major one reads the whole list.  A collection only
// notes the callbacks that are due.  They run later, at a safepoint, in the order in which they
// were noted.
//
// inv.sample.order: for one object, the promote callback comes before the dealloc callback, one at
// a time.  A thread that runs a callback of an entry also runs the callbacks of the entry that fall
// due meanwhile.
#ifndef ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_

#include <atomic>
#include <exception>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
#include "tracker/base/mutex.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class SampleTable {
 public:
  // Makes room in every list for one object.  Add() or Unreserve() gives the room back; neither
  // these nor a collection allocates.  Returns false without memory.  Any thread outside
  // collections.
  [[nodiscard]] bool Reserve();
  void Unreserve();
  // Follows an object that exists from now on, in reserved room.  Runs no user code, so the caller
  // may hold an object that has no header yet.
  void Add(Object* object, heap_client::BlockHandle handle, bool young);

  // Called after the survivors of a minor collection were moved, or after marking.
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

  Index TakeEntry() ALLOMON_REQUIRES(mutex_);
  void Queue(Index index) ALLOMON_REQUIRES(mutex_);
  void PushDue(Index index) ALLOMON_REQUIRES(mutex_);
  Index PopDue() ALLOMON_REQUIRES(mutex_);
  void RunEntry(Index index, std::exception_ptr* thrown) ALLOMON_REQUIRES(mutex_);
  void FinishEntry(Index index) ALLOMON_REQUIRES(mutex_);
  bool RunOne(Index index, std::exception_ptr* thrown) ALLOMON_REQUIRES(mutex_);
  bool YoungAreTheSuffix() const ALLOMON_REQUIRES(mutex_);
  void MoveYoungBack(size_t from) ALLOMON_REQUIRES(mutex_);

  Mutex mutex_;
  Vector<Entry> entries_ ALLOMON_GUARDED_BY(mutex_);
  Vector<Index> free_ ALLOMON_GUARDED_BY(mutex_);
  Vector<Index> order_ ALLOMON_GUARDED_BY(mutex_);
  size_t first_young_ ALLOMON_GUARDED_BY(mutex_) = 0;  // in order_
  size_t reserved_ ALLOMON_GUARDED_BY(mutex_) = 0;     // entries that are still to be added
  // A ring of the entries that are due; large enough for every entry (inv.sample.room).
  Vector<Index> due_ ALLOMON_GUARDED_BY(mutex_);
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

#endif  // ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_
