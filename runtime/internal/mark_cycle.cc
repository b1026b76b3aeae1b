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

// What is young when the collection begins keeps what it refers to, weakly or not: its copies are
// none that are looked at.
bool MarkCycle::AddRootsOfStays() {
  SliceMarker& marker = **marker_;
  bool has_room = true;
  const auto add = [&](Slot& slot) { has_room = has_room && marker.AddRoot(slot); };
  heap_.young.ForEachStay([&](Object* object) {
    const TypeInfo& type = TypeOf(HeaderOf(object));
    ForEachSlot(type, object, add);
    if (type.kind != Kind::kEphemeron) return;
    add(EphemeronOf(object).key);
    add(EphemeronOf(object).value);
  });
  return has_room;
}

bool MarkCycle::AddRoots() {
  SliceMarker& marker = **marker_;
  bool has_room = true;
  const auto add = [&](Slot& slot) { has_room = has_room && marker.AddRoot(slot); };
  ForEachStackObject(heap_, add);
  ForEachStrongRoot(heap_, add);
  return AddRootsOfStays() && has_room;
}

bool MarkCycle::Begin() {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  ALLOMON_DCHECK("inv.mark.cycle", phase() == Phase::kIdle);
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!NoteStackObjects(heap_)) return false;
  marker_->emplace(heap_);
  if (!AddRoots()) {
    marker_->reset();
    return false;
  }
  heap_.blocks.BeginMarking();
  heap_.large.ClearMarks();
  TellMutators(true);
  finalizers_revived_ = large_swept_ = keeps_tenure_ = false;
  snapshot_words_ = heap_.OldWords() - heap_.young.old_bytes() / kWordBytes;
  pacing_.Begin(heap_.grown_bytes, heap_.major_threshold_bytes, snapshot_words_);
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

// Without memory for them, the objects are marked at once: then nothing is left to be cleared.
void MarkCycle::MarkNotes(Mutator& mutator) {
  SliceMarker& marker = **marker_;
  for (size_t i = 0; i < mutator.n_notes; ++i) {
    Slot& note = mutator.notes[i];
    if (phase() == Phase::kClear) {
      if (marker.AddRoot(note)) continue;
      while (heap_.blocks.ClearNext()) {
      }
      EnterPhase(Phase::kMark);
    }
    marker.Visit(note);
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
  const auto is_dead = [this](Slot* slot) { return !LiesInLiving(slot); };
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
  if (heap_.options.verify) VerifyMarked(heap_, [&](Object* o) { return marker.IsMarked(o); });
  FilterTables(heap_, marker, [&](Object* object) { return WasThere(object); });
  ForgetDeadEphemerons(heap_, marker);
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
  const uint64_t target_words = pacing_.TargetWords(grown_bytes);
  uint32_t looks = 0;
  GoOn([&]() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    if (++looks == heap_.options.slice_looks) return true;
    const bool on_its_way = phase() == Phase::kMark && (*marker_)->marked_words() >= target_words;
    return on_its_way || NowNs() >= until_ns;
  });
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

void MarkCycle::ResetInForkedChild() { let_go_.ResetInForkedChild(); }

}  // namespace allomon::gc::internal
