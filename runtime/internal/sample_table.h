// The objects that trackers follow.  See "Sampling" in runtime/README.md.
//
// order_ lists the live ones, and those born since the last minor collection are its
// suffix: a collection looks at the young ones, a major one at all, and neither at
// anything in between.  What a collection finds is only noted (due); the callbacks run
// later, at a safepoint, in the order in which they were found.
//
// inv.sample.order  For one object: promote before dealloc, one at a time.  A thread that
//                   runs a callback of an entry also runs what falls due meanwhile.
#ifndef ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_

#include <atomic>
#include <mutex>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {

class SampleTable {
 public:
  // Follows an object that exists from now on.  Makes room in every list, so that nothing
  // here allocates during a collection; without memory the object is reported dead at once.  Any
  // thread outside collections; never throws. `promote_due` for one that was promoted inside its
  // own alloc callback.
  void Add(Object* object, heap_client::BlockHandle handle, bool young, bool promote_due = false);

  // After the survivors of a minor collection were moved, or after marking.
  void AfterMinor();
  template <typename IsMarked>
  void AfterMajor(IsMarked is_marked);
  // All objects die, the heap being destroyed.
  void AllDie();

  // Whether callbacks are due.  Any thread.
  bool any_due() const { return due_count_.load(std::memory_order_relaxed) != 0; }
  // Runs the callbacks that are due, until one throws: then the rest stays due and
  // *thrown is set.  Any thread outside callbacks; without any lock while user code runs.
  void RunDue(std::exception_ptr* thrown);

  size_t followed() const { return order_.size(); }

 private:
  using Index = uint32_t;
  struct Entry {
    Object* object;
    heap_client::BlockHandle handle;  // 0: nobody follows it any more
    bool promote_due;
    bool dead;
    bool queued;
    bool running;
  };

  bool ReserveLocked();
  Index TakeEntry();
  void Queue(Index index);
  void RunEntry(std::unique_lock<std::mutex>& lock, Index index, std::exception_ptr* thrown);
  void FinishEntry(Index index);
  bool RunOne(std::unique_lock<std::mutex>& lock, Index index, std::exception_ptr* thrown);

  std::mutex mutex_;
  Vector<Entry> entries_;
  Vector<Index> free_;
  Vector<Index> order_;
  size_t first_young_ = 0;  // in order_
  // A ring of what is due; large enough for every entry.
  Vector<Index> due_;
  size_t due_head_ = 0;
  std::atomic<size_t> due_count_{0};
};

template <typename IsMarked>
void SampleTable::AfterMajor(IsMarked is_marked) {
  std::lock_guard<std::mutex> hold(mutex_);
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
  first_young_ = kept;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SAMPLE_TABLE_H_
