#include "runtime/internal/collect/mark_cycle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mark_slices.h"
#include "runtime/internal/collect/mark_weak.h"
#include "runtime/internal/object/now.h"

namespace allomon::gc::internal {

MarkCycle::MarkCycle(HeapCore& heap)
    : heap_(heap), marker_(std::make_unique<std::optional<SliceMarker>>()) {}
MarkCycle::~MarkCycle() = default;

void MarkCycle::TellMutators(bool marking) {
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) {
    m->window->marking = marking;
  }
}

void MarkCycle::NoteYoungSlot(Object*& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  if (!TryPush(young_slots_, &slot)) keeps_tenure_ = true;
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
  // Bounds the memory of a program that does nothing but overwrite references.
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

// The forking thread holds the mutex.  A thread that the child does not have may have been waiting
// for it.
void MarkCycle::ResetInForkedChild() {
  let_go_.ResetInForkedChild();
  wanted_.store(1, std::memory_order_relaxed);
}

}  // namespace allomon::gc::internal
