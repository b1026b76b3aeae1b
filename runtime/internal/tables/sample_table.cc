#include "runtime/internal/tables/sample_table.h"

#include <algorithm>
#include <utility>

#include "runtime/internal/space/young_range.h"

namespace allomon::gc::internal {

// The lists grow by doubling.  The ring's entries are moved to the front of its larger memory.
bool SampleTable::EnsureRoom(size_t more) {
  const size_t followed = entries_.size() - free_.size() + new_.size() + due_dead_ + reserved_;
  if (followed + more <= due_.size()) return true;
  const size_t capacity = std::max<size_t>(64, (followed + more) * 2);
  Vector<Due> due;
  if (!TryReserve(due, capacity) || !TryReserve(entries_, capacity) ||
      !TryReserve(free_, capacity) || !TryReserve(order_, capacity) ||
      !TryReserve(new_, capacity)) {
    return false;
  }
  due.resize(capacity);
  for (size_t i = 0; i < due_count_; ++i) due[i] = due_[(due_head_ + i) % due_.size()];
  due_.swap(due);
  due_head_ = 0;
  return true;
}

// Makes room for a dozen objects.  If there is no memory for that, there may still be room for one.
bool SampleTable::PromiseSlow(NewSamples& own) {
  const MutexHolder hold(mutex_);
  TakeLocked(own);
  const uint32_t most = NewSamples::kMost - own.room_;
  const uint32_t more = EnsureRoom(most) ? most : EnsureRoom(1) ? std::min(most, 1u) : 0;
  own.room_ += more;
  reserved_ += more;
  return own.TryPromise();
}

void SampleTable::GiveRoomBack(NewSamples& own, uint32_t room) {
  ALLOMON_DCHECK_LE("inv.sample.room", room, reserved_);
  own.room_ -= room;
  reserved_ -= room;
}

void SampleTable::TakeLocked(NewSamples& own) {
  new_.insert(new_.end(), own.samples_, own.samples_ + own.count_);
  GiveRoomBack(own, std::exchange(own.count_, 0));
}

void SampleTable::Take(NewSamples& own) {
  if (own.count_ == 0) return;  // no lock: the world is stopped
  const MutexHolder hold(mutex_);
  TakeLocked(own);
}

void SampleTable::Leave(NewSamples& own) {
  const MutexHolder hold(mutex_);
  TakeLocked(own);
  GiveRoomBack(own, own.room_);
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

void SampleTable::AddEntry(const Entry& entry) {
  const Index index = TakeEntry();
  entries_[index] = entry;
  order_.push_back(index);
}

// Old entries precede the young ones, so the first young entry moves to the end to make room.
void SampleTable::AddOld(NewSamples& own, Object* object, heap_client::BlockHandle handle) {
  const MutexHolder hold(mutex_);
  own.Unpromise();
  GiveRoomBack(own, 1);
  AddEntry({object, handle, true, false, false, false, false});
  std::swap(order_.back(), order_[first_young_++]);
}

void SampleTable::PushDue(Due due) {
  const size_t count = due_count_.load(std::memory_order_relaxed);
  ALLOMON_DCHECK_LT("inv.sample.room", count, due_.size());
  const size_t place = due_head_ + count;
  due_[place < due_.size() ? place : place - due_.size()] = due;
  due_dead_ += due.dead != 0 ? 1 : 0;
  due_count_.store(count + 1, std::memory_order_relaxed);
}

SampleTable::Due SampleTable::PopDue() {
  const Due due = due_[due_head_];
  if (++due_head_ == due_.size()) due_head_ = 0;
  due_dead_ -= due.dead != 0 ? 1 : 0;
  due_count_.store(due_count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return due;
}

// Puts an entry into the queue once, however many callbacks it owes.
void SampleTable::Queue(Index index) {
  Entry& entry = entries_[index];
  if (entry.queued) return;
  entry.queued = true;
  PushDue({index, 0});
}

// For debug builds.
bool SampleTable::YoungAreTheSuffix() const {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (IsYoung(entries_[order_[i]].object) != (i >= first_young_)) return false;
  }
  return true;
}

// Partitions the entries so that those of young objects are the suffix.  No young object is before
// `from`.
void SampleTable::MoveYoungBack(size_t from) {
  const auto young = std::partition(
      order_.begin() + static_cast<ptrdiff_t>(from), order_.end(),
      [this](Index index) ALLOMON_REQUIRES(mutex_) { return !IsYoung(entries_[index].object); });
  first_young_ = static_cast<size_t>(young - order_.begin());
}

// An object that stays counts as promoted when it gets tenure.  It may still be moved later.
bool SampleTable::NoteMinor(Entry* entry) {
  const uintptr_t header = HeaderOf(entry->object);
  const bool moved = (header & kForwardedBit) != 0;
  if (!moved && (header & kStaysBit) == 0) return false;
  if (moved) entry->object = reinterpret_cast<Object*>(header & ~kHeaderBits);
  if (!entry->old && (moved || (header & kTenuredBit) != 0)) {
    entry->old = entry->promote_due = true;
  }
  return true;
}

void SampleTable::NoteMinorOfNew() {
  for (const NewSample& sample : new_) {
    Entry entry = {sample.object, sample.handle, false, false, false, false, false};
    if (!NoteMinor(&entry)) {
      PushDue({0, sample.handle});
      continue;
    }
    AddEntry(entry);
    if (entry.promote_due) Queue(order_.back());
  }
  new_.clear();
}

void SampleTable::AfterMinor() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.sample.suffix", YoungAreTheSuffix());
  const size_t begin = first_young_;
  size_t kept = begin;
  for (size_t i = begin; i < order_.size(); ++i) {
    Entry& entry = entries_[order_[i]];
    const bool lives = NoteMinor(&entry);
    if (!lives) entry.dead = true;
    if (!lives || entry.promote_due) Queue(order_[i]);
    if (lives) order_[kept++] = order_[i];
  }
  order_.resize(kept);
  NoteMinorOfNew();
  MoveYoungBack(begin);
}

void SampleTable::AllDie() {
  AfterMajor([](Object*) { return false; });
}

// Runs one callback of the entry; false if the entry owes none.  The mutex is not held while the
// callback runs.  The thread safety analysis does not see that the destructor takes it again.
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
      Entry& entry = table.entries_[index];  // looked up again: the table may have grown
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

// Runs all callbacks that the entry owes: promotion before death.
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

// The callback may end its thread, which leaves this function by unwinding.  The end of the thread
// then tells the other trackers of the block.
void SampleTable::RunDead(heap_client::BlockHandle dead,
                          std::exception_ptr* thrown) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  struct Unlocked {
    ~Unlocked() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); }
    Mutex& mutex;
  } unlocked{mutex_};
  mutex_.unlock();
  heap_client::OnManagedFree(dead, thrown);
}

void SampleTable::RunDue(std::exception_ptr* thrown) {
  const MutexHolder hold(mutex_);
  for (size_t left = due_count_; left > 0 && *thrown == nullptr && any_due(); --left) {
    const Due due = PopDue();
    if (due.dead != 0) {
      RunDead(due.dead, thrown);
      continue;
    }
    if (entries_[due.index].running) {
      PushDue(due);  // the thread that runs the entry will run it; see inv.sample.order
      continue;
    }
    entries_[due.index].queued = false;
    RunEntry(due.index, thrown);
  }
}

}  // namespace allomon::gc::internal
