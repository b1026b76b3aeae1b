#include "runtime/internal/mark_cycle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/internal/check.h"
#include "runtime/internal/collector.h"
#include "runtime/internal/heap_core.h"
#include "runtime/internal/mark_slices.h"
#include "runtime/internal/mark_weak.h"
#include "runtime/internal/now.h"
#include "runtime/internal/stack_roots.h"

namespace allomon::gc::internal {

MarkCycle::MarkCycle(HeapCore& heap)
    : heap_(heap), marker_(std::make_unique<std::optional<SliceMarker>>()) {}
MarkCycle::~MarkCycle() = default;

void MarkCycle::TellMutators(bool marking) {
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) {
    m->window->marking = marking;
  }
}

bool MarkCycle::AddHeldSlots(Object* object) {
  bool has_room = true;
  const auto add = [&](Slot& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    const bool full = held_slots_.size() == held_slots_.capacity();
    if (full && !TryReserve(held_slots_, held_slots_.size() * 2 + 64)) has_room = false;
    if (has_room) held_slots_.push_back(slot);
  };
  const TypeInfo& type = TypeOf(HeaderOf(object));
  ForEachSlot(type, object, add);
  // An ephemeron that is young now keeps both: nobody looks at it when the marking ends.
  if (type.kind == Kind::kEphemeron) {
    add(EphemeronOf(object).key);
    add(EphemeronOf(object).value);
  }
  return has_room;
}

// The barrier does not note stores into young objects, so what those that stay refer to is noted
// now.
bool MarkCycle::HoldStays() {
  held_.clear();
  held_slots_.clear();
  reached_.clear();
  n_followed_ = 0;
  bool has_room = true;
  heap_.young.ForEachStay([&](Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    const size_t first = held_slots_.size();
    const bool full = held_.size() == held_.capacity();
    if (full && !TryReserve(held_, held_.size() * 2 + 64)) has_room = false;
    has_room = has_room && AddHeldSlots(object);
    if (has_room) held_.push_back({object, first, held_slots_.size() - first, false});
  });
  return has_room && TryReserve(reached_, held_.size());
}

const MarkCycle::Held* MarkCycle::FindHeld(const Object* object) const
    ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // as its callers
  const auto found =
      std::lower_bound(held_.begin(), held_.end(), object,
                       [](const Held& held, const Object* wanted) { return held.object < wanted; });
  return found != held_.end() && found->object == object ? &*found : nullptr;
}

bool MarkCycle::YoungLives(const Object* object) const {
  const Held* const held = FindHeld(object);
  return held == nullptr || held->reached;
}

void MarkCycle::ReachOne(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  Held* const held = const_cast<Held*>(FindHeld(object));
  if (held == nullptr || std::exchange(held->reached, true)) return;
  ALLOMON_DCHECK_LT("inv.mark.held", reached_.size(), reached_.capacity());
  reached_.push_back(held);
}

// In a loop, since objects that stay may be a long list.
void MarkCycle::Reach(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ReachOne(object);
  while (n_followed_ < reached_.size()) {
    const Held& held = *reached_[n_followed_++];
    for (size_t i = held.first; i < held.first + held.count; ++i) {
      Object* const slot = held_slots_[i];
      if (IsYoung(slot)) {
        ReachOne(slot);
      } else {
        MarkRoot(slot);
      }
    }
  }
}

// Without memory for it the object is marked at once, with nothing left to be cleared; before the
// beginning there are no marks to be set, so there is none.
void MarkCycle::MarkRoot(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SliceMarker& marker = **marker_;
  if (marker.AddRoot(object)) return;
  if (phase() == Phase::kIdle) {
    lacks_room_ = true;
    return;
  }
  while (phase() == Phase::kClear && heap_.blocks.ClearNext()) {
  }
  if (phase() == Phase::kClear) EnterPhase(Phase::kMark);
  marker.Visit(object);
}

bool MarkCycle::AddRoots() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  lacks_room_ = false;
  const auto add = [this](Slot& slot) {
    if (IsYoung(slot)) {
      Reach(slot);
    } else {
      MarkRoot(slot);
    }
  };
  ForEachStackObject(heap_, add);
  ForEachStrongRoot(heap_, add);
  return !lacks_room_;
}

// They are the holes of the nursery from now on, as behind a collection at once.
void MarkCycle::DropDeadStays() {
  const size_t old_bytes = heap_.young.old_bytes();
  const size_t young_bytes = heap_.young.young_bytes();
  const auto lives = [this](const YoungSlice&, Object* object) { return YoungLives(object); };
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->ReopenNursery(lives);
  heap_.young.RebuildAdopted(lives);
  heap_.statistics.freed_old_words += (old_bytes - heap_.young.old_bytes()) / kWordBytes;
  heap_.statistics.freed_young_words += (young_bytes - heap_.young.young_bytes()) / kWordBytes;
}

bool MarkCycle::Begin() {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  ALLOMON_DCHECK("inv.mark.cycle", phase() == Phase::kIdle);
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!NoteStackObjects(heap_)) return false;
  marker_->emplace(heap_);
  if (!HoldStays() || !AddRoots()) {
    marker_->reset();
    return false;
  }
  heap_.blocks.BeginMarking();
  heap_.large.ClearMarks();
  TellMutators(true);
  finalizers_revived_ = large_swept_ = keeps_tenure_ = false;
  snapshot_words_ = heap_.OldWords() - heap_.young.old_bytes() / kWordBytes;
  pacing_.Begin(heap_.grown_bytes, heap_.major_threshold_bytes);
  next_pause_bytes_ = pacing_.NextPause(heap_.grown_bytes);
  EnterPhase(Phase::kClear);
  return true;
}

void MarkCycle::NoteYoungSlot(Object*& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  const size_t capacity = young_slots_.capacity();
  if (young_slots_.size() == capacity && !TryReserve(young_slots_, capacity * 2 + 64)) {
    keeps_tenure_ = true;
  } else {
    young_slots_.push_back(&slot);
  }
}

void MarkCycle::MarkNotes(Mutator& mutator) {
  for (size_t i = 0; i < mutator.n_notes; ++i) {
    Object* note = mutator.notes[i];
    if (IsYoung(note)) {
      Reach(note);
    } else if (phase() == Phase::kClear) {
      MarkRoot(note);
    } else {
      (*marker_)->Visit(note);
    }
  }
  mutator.n_notes = 0;
}

void MarkCycle::TakeNotes() {
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) MarkNotes(*m);
}

void MarkCycle::Note(Mutator& mutator, Object* object) {
  mutator.notes[mutator.n_notes++] = object;
  if (mutator.n_notes < Mutator::kMostNotes) return;
  const Hold hold(*this);
  // So that a program which does nothing but overwrite fills no memory.
  for (int i = 0; i < 8 && phase() == Phase::kClear; ++i) ClearSome();
  MarkNotes(mutator);
}

void MarkCycle::ClearSome() {
  if (!heap_.blocks.ClearNext()) EnterPhase(Phase::kMark);
}

bool MarkCycle::Rubbish::Free() {
  const bool any = large.count != 0 || chunk != nullptr;
  LargeSpace::Free(large);
  if (chunk != nullptr) FreeChunkMemory(std::exchange(chunk, nullptr));
  return any;
}

template <typename Stop>
bool MarkCycle::SweepUntil(Stop stop, Rubbish& rubbish) {
  while (heap_.SweepNextChunk()) {
    if (stop()) return true;
  }
  while (!large_swept_) {
    large_swept_ = !heap_.large.SweepNext(rubbish.large);
    if (rubbish.large.count != 0 || stop()) return true;
  }
  return false;
}

// Each step takes some microseconds.
template <typename Stop>
bool MarkCycle::Work(Stop stop, Rubbish& rubbish) {
  while (phase() == Phase::kClear) {
    ClearSome();
    if (stop()) return true;
  }
  if (phase() == Phase::kMark) return !(*marker_)->MarkUntil(stop);
  if (phase() == Phase::kSweep) return SweepUntil(stop, rubbish);
  if (phase() == Phase::kIdle) return false;
  rubbish.chunk = heap_.blocks.TakeReleased();
  if (rubbish.chunk == nullptr) EnterPhase(Phase::kIdle);
  return rubbish.chunk != nullptr;
}

template <typename Stop>
bool MarkCycle::WorkAndFree(Stop stop) {
  Rubbish rubbish;
  while (Work(stop, rubbish)) {
    if (!rubbish.Free() || stop()) return true;
  }
  return false;
}

template <typename Stop>
bool MarkCycle::TryToEnd(Stop stop) {
  SliceMarker& marker = **marker_;
  if (!marker.MarkUntil(stop)) return false;
  marker.Rescan();
  if (!MarkEphemerons(marker, stop)) return false;
  ClearDeadEphemerons(marker);
  if (!finalizers_revived_) {
    finalizers_revived_ = true;
    ReviveDueLocked();
    return TryToEnd(stop);
  }
  return true;
}

void MarkCycle::ReviveDueLocked() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector holds it
  ReviveFinalizable(heap_, **marker_);
}

bool MarkCycle::LiesInLiving(Slot* slot) {
  char* const byte = reinterpret_cast<char*>(slot);
  if (heap_.blocks.Contains(byte)) return BlockSpace::IsInMarked(byte);
  Object* const object = heap_.large.ObjectAt(reinterpret_cast<uintptr_t>(byte));
  return object != nullptr && heap_.large.IsMarked(object);
}

// Slots of dead objects are those of others when their memory has been swept.
void MarkCycle::FilterSlots(Vector<Slot*>& slots) {
  const auto is_dead = [this](Slot* slot)
                           ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return !LiesInLiving(slot); };
  slots.erase(std::remove_if(slots.begin(), slots.end(), is_dead), slots.end());
}

void MarkCycle::RestrictTenure() {
  uintptr_t low = 0;
  uintptr_t high = 0;
  heap_.large.FindBounds(&low, &high);
  FilterSlots(heap_.remembered);
  FilterSlots(young_slots_);
  if (!keeps_tenure_) {
    internal::RestrictTenure(heap_);
    for (Slot* slot : young_slots_) {
      if (IsYoung(*slot) && !HasTenure(*slot)) Remember(heap_, *slot);
    }
    Vector<Slot*>& remembered = heap_.remembered;
    std::sort(remembered.begin(), remembered.end());
    remembered.erase(std::unique(remembered.begin(), remembered.end()), remembered.end());
  }
  Vector<Slot*>().swap(young_slots_);
}

void MarkCycle::EndMarking() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  SliceMarker& marker = **marker_;
  ALLOMON_DCHECK_LE("inv.mark.count", marker.marked_words(), snapshot_words_);
  FilterTables(heap_, marker, [&](Object* object) { return WasThere(object); });
  ForgetDeadEphemerons(heap_, marker);
  DropDeadStays();
  if (heap_.options.verify) VerifyMarked(heap_, [&](Object* o) { return marker.IsMarked(o); });
  // From here on Remember() notes nothing for this cycle.
  EnterPhase(Phase::kSweep);
  TellMutators(false);
  RestrictTenure();
  ++heap_.statistics.major_collections;
  heap_.statistics.freed_old_words += snapshot_words_ - marker.marked_words();
  const uint64_t grown_bytes = heap_.grown_bytes;
  heap_.SetMajorThreshold();
  pacing_.EndMarking(grown_bytes, heap_.major_threshold_bytes);
  heap_.SetMajorStart();
  keep_free_blocks_ = heap_.BlocksToKeep();
  heap_.blocks.EndMarking();
  heap_.large.BeginSweep();
  marker_->reset();
}

bool MarkCycle::WasThere(Object* object) const {
  if (IsYoung(object)) return false;
  return IsLarge(HeaderOf(object)) || !BlockSpace::IsFresh(object);
}

// Running threads ask for the number of chunks, so chunks go while the world is stopped.
void MarkCycle::EndSweep() {
  heap_.blocks.ChooseReleases(keep_free_blocks_);
  EnterPhase(Phase::kRelease);
}

template <typename Stop>
void MarkCycle::GoOn(Stop stop) {
  if (is_marking()) TakeNotes();
  if (WorkAndFree(stop)) return;
  if (phase() == Phase::kMark) {
    if (!TryToEnd(stop)) return;
    EndMarking();
    if (WorkAndFree(stop)) return;
  }
  if (phase() == Phase::kSweep) EndSweep();
}

void MarkCycle::Pause(uint64_t pause_start_ns) {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  const uint64_t grown_bytes = heap_.grown_bytes;
  if (pacing_.IsHopeless(grown_bytes)) return Complete();
  const uint64_t until_ns = pacing_.SliceEnd(is_marking(), pause_start_ns, NowNs(), grown_bytes);
  uint32_t looks = 0;
  GoOn([&] { return ++looks == heap_.options.slice_looks || NowNs() >= until_ns; });
  const uint64_t next = pacing_.NextPause(heap_.grown_bytes);
  next_pause_bytes_ = is_marking() ? next : std::max<uint64_t>(heap_.major_start_bytes, next);
}

void MarkCycle::Complete() {
  while (is_active()) GoOn([] { return false; });
}

bool MarkCycle::WorkForHelper() {
  constexpr uint64_t kSliceNs = 200000;
  Rubbish rubbish;
  bool more = false;
  {
    const MutexHolder hold(mutex_);
    while (wanted_.load(std::memory_order_relaxed) != 0) let_go_.Wait(mutex_);
    const uint64_t until_ns = NowNs() + kSliceNs;
    const auto stop = [&] {
      return wanted_.load(std::memory_order_relaxed) != 0 || NowNs() >= until_ns;
    };
    more = Work(stop, rubbish);
  }
  rubbish.Free();
  return more;
}

void MarkCycle::LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  wanted_.fetch_add(1, std::memory_order_relaxed);
  mutex_.lock();
}

void MarkCycle::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  mutex_.unlock();
  let_go_.NotifyAll();
}

// A thread that the child does not have may have wanted the mutex; the one that forks holds it.
void MarkCycle::ResetInForkedChild() {
  let_go_.ResetInForkedChild();
  wanted_.store(1, std::memory_order_relaxed);
}

}  // namespace allomon::gc::internal
