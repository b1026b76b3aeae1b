#include "runtime/internal/collect/mark_cycle.h"

#include <algorithm>
#include <utility>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/mark_weak.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {
namespace {

// The work on one heap, which has the state.
class MarkCycle {
 public:
  explicit MarkCycle(HeapCore& heap) : heap_(heap) {}

  bool Begin() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void Pause(uint64_t pause_start_ns) ALLOMON_REQUIRES(heap_.cycle.mutex);
  void Complete() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void GiveUp() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void Note(Mutator& mutator, Object* object) ALLOMON_EXCLUDES(heap_.cycle.mutex);
  bool WorkForHelper() ALLOMON_EXCLUDES(heap_.cycle.mutex);

 private:
  using Phase = MarkState::Phase;

  // Memory to be given back, which takes up to some milliseconds.
  struct Rubbish {
    LargeSpace::Dead large;
    Chunk* chunk = nullptr;
    bool Free();  // false if there was none
  };

  // Does work until stop(), or until there is rubbish; false if there is nothing left to do.
  template <typename Stop>
  bool Work(Stop stop, Rubbish& rubbish) ALLOMON_REQUIRES(heap_.cycle.mutex);
  template <typename Stop>
  bool WorkAndFree(Stop stop) ALLOMON_REQUIRES(heap_.cycle.mutex);
  template <typename Stop>
  bool SweepUntil(Stop stop, Rubbish& rubbish) ALLOMON_REQUIRES(heap_.cycle.mutex);

  bool AddRoots();
  void DropDeadStays() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void TellMutators(bool marking);
  void TakeNotes() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void MarkNotes(Mutator& mutator) ALLOMON_REQUIRES(heap_.cycle.mutex);
  void ClearSome() ALLOMON_REQUIRES(heap_.cycle.mutex);
  template <typename Stop>
  bool TryToEnd(Stop stop) ALLOMON_REQUIRES(heap_.cycle.mutex);
  bool ReviveDueLocked();
  void EndMarking();
  bool WasThere(Object* object) const;
  bool LiesInLiving(Object** slot) ALLOMON_REQUIRES(heap_.cycle.mutex);
  void FilterSlots(Vector<Object**>& slots) ALLOMON_REQUIRES(heap_.cycle.mutex);
  void RestrictTenure() ALLOMON_REQUIRES(heap_.cycle.mutex);
  void EndSweep() ALLOMON_REQUIRES(heap_.cycle.mutex);
  template <typename Stop>
  void GoOn(Stop stop) ALLOMON_REQUIRES(heap_.cycle.mutex);

  HeapCore& heap_;
};

void MarkCycle::TellMutators(bool marking) {
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) {
    m->window->marking = marking;
  }
}

void MarkCycle::MarkNotes(Mutator& mutator) {
  for (size_t i = 0; i < mutator.n_notes; ++i) {
    Object* note = mutator.notes[i];
    if (IsYoung(note)) {
      heap_.slice_marker->Reach(note);
    } else if (heap_.cycle.phase() == Phase::kClear) {
      heap_.slice_marker->MarkRoot(note);
    } else {
      heap_.slice_marker->Visit(note);
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
  const MarkState::Hold hold(heap_.cycle);
  // Bounds the memory of a program that does nothing but overwrite references.
  for (int i = 0; i < 8 && heap_.cycle.phase() == Phase::kClear; ++i) ClearSome();
  MarkNotes(mutator);
}

void MarkCycle::ClearSome() {
  if (!heap_.blocks.ClearNext()) heap_.cycle.EnterPhase(Phase::kMark);
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
  while (!heap_.cycle.large_swept) {
    heap_.cycle.large_swept = !heap_.large.SweepNext(rubbish.large);
    if (rubbish.large.count != 0 || stop()) return true;
  }
  return false;
}

// Each step takes some microseconds.
template <typename Stop>
bool MarkCycle::Work(Stop stop, Rubbish& rubbish) {
  while (heap_.cycle.phase() == Phase::kClear) {
    ClearSome();
    if (stop()) return true;
  }
  if (heap_.cycle.phase() == Phase::kMark) return !heap_.slice_marker->MarkUntil(stop);
  if (heap_.cycle.phase() == Phase::kSweep) return SweepUntil(stop, rubbish);
  if (heap_.cycle.phase() == Phase::kIdle) return false;
  rubbish.chunk = heap_.blocks.TakeReleased();
  if (rubbish.chunk == nullptr) heap_.cycle.EnterPhase(Phase::kIdle);
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
  SliceMarker& marker = *heap_.slice_marker;
  if (!marker.MarkUntil(stop)) return false;
  marker.Rescan();
  if (!MarkEphemerons(marker, stop)) return false;
  ClearDeadEphemerons(marker);
  if (!heap_.cycle.finalizers_revived) {
    heap_.cycle.finalizers_revived = true;
    if (ReviveDueLocked()) return TryToEnd(stop);
  }
  return true;
}

template <typename Stop>
void MarkCycle::GoOn(Stop stop) {
  if (heap_.cycle.is_marking()) TakeNotes();
  if (WorkAndFree(stop)) return;
  if (heap_.cycle.phase() == Phase::kMark) {
    if (!TryToEnd(stop)) return;
    EndMarking();
    if (WorkAndFree(stop)) return;
  }
  if (heap_.cycle.phase() == Phase::kSweep) EndSweep();
}

void MarkCycle::Pause(uint64_t pause_start_ns) {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  const uint64_t grown_bytes = heap_.grown_bytes;
  if (heap_.cycle.pacing.IsHopeless(grown_bytes)) return Complete();
  const uint64_t until_ns =
      heap_.cycle.pacing.SliceEnd(heap_.cycle.is_marking(), pause_start_ns, NowNs(), grown_bytes);
  uint32_t looks = 0;
  GoOn([&] { return ++looks == heap_.options.slice_looks || NowNs() >= until_ns; });
  const uint64_t next = heap_.cycle.pacing.NextPause(heap_.grown_bytes);
  heap_.cycle.next_pause_bytes =
      heap_.cycle.is_marking() ? next : std::max<uint64_t>(heap_.major_start_bytes, next);
}

void MarkCycle::Complete() {
  while (heap_.cycle.is_active()) GoOn([] { return false; });
}

// The marking at once that follows finds the objects of stacks by marks, so the objects that the
// snapshot reaches are marked first.  A marking that ended here would make finalizers due by its
// own, older knowledge; an object that only these reach would come one collection late.
void MarkCycle::GiveUp() {
  const auto never = [] { return false; };
  TakeNotes();
  while (heap_.cycle.phase() == Phase::kClear) ClearSome();
  SliceMarker& marker = *heap_.slice_marker;
  marker.MarkUntil(never);
  marker.Rescan();
  MarkEphemerons(marker, never);
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  // The other marking would fail here, too, before it has freed anything.
  if (!NoteStackObjects(heap_)) return Complete();
  heap_.cycle.EnterPhase(Phase::kIdle);
  TellMutators(false);
  Vector<Slot*>().swap(heap_.cycle.young_slots);
  heap_.blocks.GiveUpMarking();
  heap_.slice_marker.reset();
}

bool MarkCycle::WorkForHelper() {
  constexpr uint64_t kSliceNs = 200000;
  Rubbish rubbish;
  bool more = false;
  {
    const MutexHolder hold(heap_.cycle.mutex);
    while (heap_.cycle.wanted.load(std::memory_order_relaxed) != 0)
      heap_.cycle.let_go.Wait(heap_.cycle.mutex);
    const uint64_t until_ns = NowNs() + kSliceNs;
    const auto stop = [&] {
      return heap_.cycle.wanted.load(std::memory_order_relaxed) != 0 || NowNs() >= until_ns;
    };
    more = Work(stop, rubbish);
  }
  rubbish.Free();
  return more;
}

// --- The beginning: the roots.

bool MarkCycle::AddRoots() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  heap_.cycle.lacks_room = false;
  SliceMarker& marker = *heap_.slice_marker;
  const auto add = [&marker](Slot& slot) {
    if (IsYoung(slot)) {
      marker.Reach(slot);
    } else {
      marker.MarkRoot(slot);
    }
  };
  ForEachStackObject(heap_, add);
  ForEachStrongRoot(heap_, add);
  return !heap_.cycle.lacks_room;
}

bool MarkCycle::Begin() {
  ALLOMON_DCHECK("inv.world", heap_.world.IsStoppedByMe());
  ALLOMON_DCHECK("inv.mark.cycle", heap_.cycle.phase() == Phase::kIdle);
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!NoteStackObjects(heap_)) return false;
  heap_.slice_marker.emplace(heap_, heap_.options.mark_stack_entries);
  if (!heap_.cycle.HoldStays(heap_.young) || !AddRoots()) {
    heap_.slice_marker.reset();
    return false;
  }
  heap_.blocks.BeginMarking();
  heap_.large.ClearMarks();
  TellMutators(true);
  heap_.cycle.finalizers_revived = heap_.cycle.large_swept = heap_.cycle.keeps_tenure = false;
  heap_.cycle.snapshot_words = heap_.OldWords() - heap_.young.old_bytes() / kWordBytes;
  heap_.cycle.pacing.Begin(heap_.grown_bytes, heap_.major_threshold_bytes);
  heap_.cycle.next_pause_bytes = heap_.cycle.pacing.NextPause(heap_.grown_bytes);
  heap_.cycle.EnterPhase(Phase::kClear);
  return true;
}

// --- The end of the marking.

bool MarkCycle::ReviveDueLocked() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector holds it
  return ReviveFinalizable(heap_, *heap_.slice_marker);
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
  FilterSlots(heap_.cycle.young_slots);
  if (!heap_.cycle.keeps_tenure) {
    internal::RestrictTenure(heap_);
    for (Slot* slot : heap_.cycle.young_slots) {
      if (IsYoung(*slot) && !HasTenure(*slot)) Remember(heap_, *slot);
    }
    Vector<Slot*>& remembered = heap_.remembered;
    std::sort(remembered.begin(), remembered.end());
    remembered.erase(std::unique(remembered.begin(), remembered.end()), remembered.end());
  }
  Vector<Slot*>().swap(heap_.cycle.young_slots);
}

void MarkCycle::EndMarking() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the collector's mutexes
  SliceMarker& marker = *heap_.slice_marker;
  ALLOMON_DCHECK_LE("inv.mark.count", marker.marked_words(), heap_.cycle.snapshot_words);
  FilterTables(heap_, marker, [&](Object* object) { return WasThere(object); });
  ForgetDeadEphemerons(heap_, marker);
  DropDeadStays();
  if (heap_.options.verify) VerifyMarked(heap_, [&](Object* o) { return marker.IsMarked(o); });
  // Remember() now notes nothing for this cycle.
  heap_.cycle.EnterPhase(Phase::kSweep);
  TellMutators(false);
  RestrictTenure();
  ++heap_.statistics.major_collections;
  heap_.statistics.freed_old_words += heap_.cycle.snapshot_words - marker.marked_words();
  heap_.cycle.pacing.EndMarking(heap_.grown_bytes);
  heap_.SetMajorThreshold();
  heap_.cycle.pacing.BeginSweep(heap_.major_threshold_bytes);
  heap_.cycle.keep_free_blocks = BlocksToKeep(heap_);
  heap_.blocks.EndMarking();
  heap_.large.BeginSweep(heap_.major_threshold_bytes);
  heap_.slice_marker.reset();
}

bool MarkCycle::WasThere(Object* object) const {
  if (IsYoung(object)) return false;
  return IsLarge(HeaderOf(object)) || !BlockSpace::IsFresh(object);
}

// Running threads ask for the number of chunks, so chunks go while the world is stopped.
void MarkCycle::EndSweep() {
  heap_.blocks.ChooseReleases(heap_.cycle.keep_free_blocks);
  heap_.cycle.EnterPhase(Phase::kRelease);
}

// They are the holes of the nursery from now on, as after a collection at once.
void MarkCycle::DropDeadStays() {
  const size_t old_bytes = heap_.young.old_bytes();
  const size_t young_bytes = heap_.young.young_bytes();
  const auto lives = [this](const YoungSlice&, Object* object) {
    return heap_.cycle.YoungLives(object);
  };
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->ReopenNursery(lives);
  heap_.young.RebuildAdopted(lives);
  heap_.statistics.freed_old_words += (old_bytes - heap_.young.old_bytes()) / kWordBytes;
  heap_.statistics.freed_young_words += (young_bytes - heap_.young.young_bytes()) / kWordBytes;
}

}  // namespace

// The analysis does not know that a MarkCycle's state is the heap's.

bool BeginCycle(HeapCore& heap) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  return MarkCycle(heap).Begin();
}

void PauseCycle(HeapCore& heap, uint64_t pause_start_ns) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  MarkCycle(heap).Pause(pause_start_ns);
}

void EndCycle(HeapCore& heap) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  if (heap.cycle.is_marking()) MarkCycle(heap).GiveUp();
  MarkCycle(heap).Complete();
}

void NoteForCycle(Mutator& mutator, Object* object) {
  MarkCycle(*mutator.heap).Note(mutator, object);
}

bool WorkForHelper(HeapCore& heap) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  return MarkCycle(heap).WorkForHelper();
}

}  // namespace allomon::gc::internal
