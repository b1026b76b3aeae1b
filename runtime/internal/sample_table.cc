#include "runtime/internal/sample_table.h"

#include <algorithm>

#include "runtime/internal/young_range.h"

namespace allomon::gc::internal {

bool SampleTable::Reserve() {
  const MutexHolder hold(mutex_);
  const size_t wanted = entries_.size() - free_.size() + reserved_ + 1;
  if (wanted > due_.size()) {
    const size_t capacity = std::max<size_t>(64, wanted * 2);
    Vector<Index> due;
    if (!TryReserve(due, capacity) || !TryReserve(entries_, capacity) ||
        !TryReserve(free_, capacity) || !TryReserve(order_, capacity)) {
      return false;
    }
    due.resize(capacity);
    // The ring is moved to the front of its larger self.
    for (size_t i = 0; i < due_count_; ++i) due[i] = due_[(due_head_ + i) % due_.size()];
    due_.swap(due);
    due_head_ = 0;
  }
  ++reserved_;
  return true;
}

void SampleTable::Unreserve() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK_NE("inv.sample.room", reserved_, 0u);
  --reserved_;
}

SampleTable::Index SampleTable::TakeEntry() {
  if (free_.empty()) {
    entries_.emplace_back();
    return static_cast<Index>(entries_.size() - 1);
  }
  const Index index = free_.back();
  free_.pop_back();
  return index;
}

void SampleTable::Add(Object* object, heap_client::BlockHandle handle, bool young) {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK_NE("inv.sample.room", reserved_, 0u);
  --reserved_;
  const Index index = TakeEntry();
  entries_[index] = {object, handle, !young, false, false, false, false};
  order_.push_back(index);
  if (young) return;
  // Old entries stand before the young ones: the first young entry moves to the end and makes room.
  std::swap(order_.back(), order_[first_young_++]);
}

void SampleTable::PushDue(Index index) {
  ALLOMON_DCHECK_LT("inv.sample.room", due_count_.load(), due_.size());
  due_[(due_head_ + due_count_) % due_.size()] = index;
  due_count_.fetch_add(1, std::memory_order_relaxed);
}

SampleTable::Index SampleTable::PopDue() {
  const Index index = due_[due_head_];
  due_head_ = (due_head_ + 1) % due_.size();
  due_count_.fetch_sub(1, std::memory_order_relaxed);
  return index;
}

// Puts an entry into the queue once, however many callbacks it owes.
void SampleTable::Queue(Index index) {
  Entry& entry = entries_[index];
  if (entry.queued) return;
  entry.queued = true;
  PushDue(index);
}

// For debug builds.
bool SampleTable::YoungAreTheSuffix() const {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (IsYoung(entries_[order_[i]].object) != (i >= first_young_)) return false;
  }
  return true;
}

// Makes the entries of young objects, none of which is before `from`, the suffix.
void SampleTable::MoveYoungBack(size_t from) {
  const auto young = std::partition(
      order_.begin() + static_cast<ptrdiff_t>(from), order_.end(),
      [this](Index index) ALLOMON_REQUIRES(mutex_) { return !IsYoung(entries_[index].object); });
  first_young_ = static_cast<size_t>(young - order_.begin());
}

// An object that stays is promoted when it has tenure.  It may be moved later.
void SampleTable::AfterMinor() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.sample.suffix", YoungAreTheSuffix());
  const size_t begin = first_young_;
  size_t kept = begin;
  for (size_t i = begin; i < order_.size(); ++i) {
    Entry& entry = entries_[order_[i]];
    const uintptr_t header = HeaderOf(entry.object);
    const bool moved = (header & kForwardedBit) != 0;
    if (!moved && (header & kStaysBit) == 0) {
      entry.dead = true;
      Queue(order_[i]);
      continue;
    }
    if (moved) entry.object = reinterpret_cast<Object*>(header & ~kHeaderBits);
    if (!entry.old && (moved || (header & kTenuredBit) != 0)) {
      entry.old = entry.promote_due = true;
      Queue(order_[i]);
    }
    order_[kept++] = order_[i];
  }
  order_.resize(kept);
  MoveYoungBack(begin);
}

void SampleTable::AllDie() {
  AfterMajor([](Object*) { return false; });
}

// Runs one callback of the entry; false if the entry owes none.  The mutex is free while the
// callback runs.  The thread safety analysis does not follow that into the destructor, which takes
// the mutex again.
bool SampleTable::RunOne(Index index,
                         std::exception_ptr* thrown) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  const bool promote = entries_[index].promote_due;
  const heap_client::BlockHandle handle = entries_[index].handle;
  if (!promote && !entries_[index].dead) return false;
  ALLOMON_DCHECK("inv.sample.order", entries_[index].running);
  entries_[index].promote_due = false;
  if (!promote) entries_[index].handle = 0;
  // A callback may end its thread, and then this function is left by unwinding.  Other trackers of
  // the block still have to be told afterwards.
  struct Unlocked {
    ~Unlocked() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
      table.mutex_.lock();
      Entry& entry = table.entries_[index];  // by index: the table may have grown
      entry.handle = kept;
      entry.promote_due |= !returned && kept != 0;
    }
    SampleTable& table;
    const Index index;
    heap_client::BlockHandle kept;
    bool returned;
  } unlocked{*this, index, promote ? handle : 0, false};
  mutex_.unlock();
  if (promote) {
    heap_client::OnManagedPromote(&unlocked.kept, thrown);
  } else {
    heap_client::OnManagedFree(handle, thrown);
  }
  unlocked.returned = true;
  return promote;
}

// Runs all callbacks that the entry owes, in their natural order.
void SampleTable::RunEntry(Index index, std::exception_ptr* thrown) {
  struct Running {
    ~Running() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { table.FinishEntry(index); }  // RunEntry() holds
    SampleTable& table;
    const Index index;
  } running{*this, index};
  ALLOMON_DCHECK("inv.sample.order", !entries_[index].running);
  entries_[index].running = true;
  while (*thrown == nullptr && RunOne(index, thrown)) {
  }
}

// Releases the entry when its object is dead.
void SampleTable::FinishEntry(Index index) {
  Entry& entry = entries_[index];
  entry.running = false;
  const bool owes = entry.promote_due || (entry.dead && entry.handle != 0);
  if (owes) {
    Queue(index);
  } else if (entry.dead && !entry.queued) {
    free_.push_back(index);
  }
}

void SampleTable::RunDue(std::exception_ptr* thrown) {
  const MutexHolder hold(mutex_);
  for (size_t left = due_count_; left > 0 && *thrown == nullptr && any_due(); --left) {
    const Index index = PopDue();
    if (entries_[index].running) {
      PushDue(index);  // the thread that runs the entry will run it; see inv.sample.order
      continue;
    }
    entries_[index].queued = false;
    RunEntry(index, thrown);
  }
}

}  // namespace allomon::gc::internal
