#include "runtime/internal/collect/collection.h"

#include <algorithm>
#include <new>
#include <utility>

#include "allomon_backend.h"
#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/collect/standing.h"
#include "runtime/internal/object/check.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

bool MajorStopped(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  const bool marked = MarkAndSweep(heap);
  if (!marked) heap.SetMajorThreshold();
  heap.blocks.PutReleasedAside();
  return marked;
}

// Follows the minor collection.
bool MajorPart(HeapCore& heap, CollectionKind kind, bool due,
               uint64_t pause_start_ns) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  if (kind == CollectionKind::kMajor) {
    EndCycle(heap);
    return MajorStopped(heap);
  }
  if (heap.cycle.is_active()) return PauseCycle(heap, pause_start_ns), true;
  if (!due) return true;
  return (heap.MayMarkInSlices() && BeginCycle(heap)) || MajorStopped(heap);
}

// A scan of deep stacks costs as much as their words and the objects that they pin.  A nursery of
// several times the stack's size keeps that cost in proportion to the allocations between two
// scans. Measured with 10,000 to 1,000,000 frames: a nursery larger than this misses the caches.
size_t WantedNursery(const Mutator& mutator) {
  const size_t stack_bytes = mutator.stack.SizeBytes();
  const size_t most = std::max<size_t>(16 << 20, 4 * stack_bytes);
  return std::max(mutator.nursery.size_bytes(), std::min(8 * stack_bytes, most));
}

void ResizeNurseries(HeapCore& heap) {
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    m->nursery.Resize(heap.young, WantedNursery(*m));
    m->synced = m->window->cursor;
  }
}

// Counts the time from the request on: threads that had stood by then could not run, either.
void CountPause(HeapCore& heap, CollectionKind kind, uint64_t ns) {
  int bucket = 0;
  while (bucket < HeapStatistics::kPauseBuckets - 1 && (ns / 1000) >> bucket != 0) ++bucket;
  ++(kind == CollectionKind::kMinor ? heap.statistics.minor_pauses
                                    : heap.statistics.major_pauses)[bucket];
  heap.statistics.total_pause_ns += ns;
  heap.statistics.longest_pause_ns = std::max(heap.statistics.longest_pause_ns, ns);
  const uint64_t stop_ns = heap.world.stood_ns() - heap.world.requested_ns();
  heap.statistics.total_stop_ns += stop_ns;
  if (stop_ns <= heap.statistics.longest_stop_ns) return;
  heap.statistics.longest_stop_ns = stop_ns;
  heap.statistics.longest_stop_thread = heap.world.last_to_stand();
}

// mimalloc keeps the pages of freed blocks that lie there in part, the first one of each large
// object for one: 143 of 570 MB.  Its own collection costs by the heap of this thread, so it comes
// only after much was dropped.
void GiveBack(size_t dropped_bytes) {
  constexpr size_t kMuch = size_t{16} << 20;
  if (dropped_bytes >= kMuch) backend::Collect();
}

void ResumeAfterCollection(HeapCore& heap) {
  const bool in_slices = heap.MayMarkInSlices();
  heap.blocks.SetPrefersSmallPages(in_slices);
  heap.blocks.stock().SetWanted(heap.options.background && in_slices);
  // Known only while the world is stopped.
  constexpr uint32_t kForHelper = 1;
  constexpr uint32_t kForTeam = 2;
  uint32_t work = 0;
  if (heap.options.background) {
    if (heap.cycle.is_active() || heap.blocks.stock().IsShort()) work |= kForHelper;
    if (heap.WantsTeam()) work |= kForTeam;
  }
  ResumeAndRelease(heap);
  if (__builtin_expect(work == 0, 1)) return;
  if ((work & kForHelper) != 0) heap.helper.Wake(WorkForHelper);
  if ((work & kForTeam) != 0) heap.StartCollectors();
}

size_t CountEphemerons(HeapCore& heap) {
  size_t count = heap.left_weaks.size();
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) count += m->weaks.size();
  return count;
}

// The threads of these mutators have detached.  ResumeAndRelease() deletes them.  Without memory
// for their ephemerons they wait for the next collection.
void TakeOverLeft(HeapCore& heap) {
  if (!TryReserve(heap.left_weaks, CountEphemerons(heap))) return;
  Mutator** last = &heap.gone;
  while (*last != nullptr) last = &(*last)->next;
  *last = heap.world.RemoveLeft();
  for (Mutator* mutator = *last; mutator != nullptr; mutator = mutator->next) {
    LeaveHeap(heap, *mutator);
  }
}

}  // namespace

// The heap gets the thread's objects that stay, and the ephemerons that refer to such.
void LeaveHeap(HeapCore& heap, Mutator& mutator) {
  mutator.LeaveNursery(heap.young);
  mutator.CloseOldWindow();
  heap.samples.Leave(mutator.new_samples);
  const size_t ephemerons = heap.left_weaks.size() + mutator.weaks.size();
  ALLOMON_GC_CHECK(TryReserve(heap.left_weaks, ephemerons), "out of memory for ephemerons");
  heap.left_weaks.insert(heap.left_weaks.end(), mutator.weaks.begin(), mutator.weaks.end());
  mutator.weaks.clear();
}

bool RunCollection(HeapCore& heap, CollectionKind kind, bool due) {
  const uint64_t start = NowNs();
  heap.HeedPressure(start);
  due = due || heap.WantsMajor(0);
  const bool is_major = kind == CollectionKind::kMajor || due || heap.cycle.is_active();
  const CollectionKind pause = is_major ? CollectionKind::kMajor : CollectionKind::kMinor;
  const uint64_t promoted_words = heap.statistics.promoted_words;
  const uint64_t freed_words = heap.statistics.freed_young_words;
  CollectorScope collector;
  const MarkState::Hold hold_cycle(heap.cycle);
  if (heap.options.listener != nullptr) heap.options.listener->OnCollectionStart(pause);
  const MutexHolder hold_globals(heap.globals_mutex);
  const MutexHolder hold_tables(heap.tables_mutex);
  CollectMinor(heap);
  const uint64_t promoted_bytes = (heap.statistics.promoted_words - promoted_words) * kWordBytes;
  const uint64_t died_bytes = (heap.statistics.freed_young_words - freed_words) * kWordBytes;
  const uint64_t minor_ns = NowNs() - start;
  heap.share.Note(promoted_bytes, promoted_bytes + died_bytes, minor_ns);
  if (heap.n_collectors > 1) heap.choice.Note(promoted_bytes, minor_ns);
  if (heap.options.verify) VerifyHeap(heap);
  const bool done = MajorPart(heap, kind, due, start);
  if (heap.options.verify && is_major) VerifyHeap(heap);
  TakeOverLeft(heap);
  ResizeNurseries(heap);
  GrowReserve(heap);
  GrantNurseries(heap);
  collector.AddBytes(promoted_bytes);
  const uint64_t ns = NowNs() - heap.world.requested_ns();
  CountPause(heap, pause, ns);
  if (heap.options.listener != nullptr) heap.options.listener->OnCollectionEnd(pause, ns);
  return done;
}

void ResumeAndRelease(HeapCore& heap) {
  Chunk* const released = heap.blocks.TakeAside();
  Mutator* gone = std::exchange(heap.gone, nullptr);
  heap.world.Resume();
  while (gone != nullptr) delete std::exchange(gone, gone->next);
  FreeChunks(released);
  GiveBack(heap.large.TakeDroppedBytes());
}

void Collect(HeapCore& heap, CollectionKind kind, Mutator* mutator, CallersStack stack) {
  const Standing standing(&heap);
  while (!heap.world.StopInTurn(mutator)) {
  }
  if (mutator != nullptr && stack == CallersStack::kKeeps) Stand(*mutator);
  if (mutator != nullptr && stack == CallersStack::kKeepsNothing) mutator->stack.here.Clear();
  RunCollection(heap, kind);
  ResumeAfterCollection(heap);
}

void CollectAndLook(HeapCore& heap, LiveObjectsVisitor& visitor, Mutator* mutator) {
  const Standing standing(&heap);
  heap.world.StopSurely(mutator);
  if (mutator != nullptr) Stand(*mutator);
  const bool done = RunCollection(heap, CollectionKind::kMajor);
  if (done) visitor.Look(heap);
  ResumeAfterCollection(heap);
  if (!done) throw std::bad_alloc();
}

bool CollectForRoom(HeapCore& heap, Mutator& mutator, const StandPoint& entry) {
  if (!heap.world.StopInTurn(&mutator)) return false;
  mutator.stack.here.point = entry;
  mutator.NoteStand();
  RunCollection(heap, CollectionKind::kMinor);
  ResumeAfterCollection(heap);
  return true;
}

void CollectForGrowth(HeapCore& heap, Mutator& mutator, size_t bytes) {
  while (!heap.world.StopInTurn(&mutator)) {
    if (!heap.WantsMajor(bytes)) return;
  }
  Stand(mutator);
  RunCollection(heap, CollectionKind::kMinor, true);
  ResumeAfterCollection(heap);
}

HeapStatistics Statistics(HeapCore& heap, Mutator* mutator) {
  const Standing standing(&heap);
  heap.world.StopSurely(mutator);
  HeapStatistics result = heap.statistics;
  result.allocated_words = heap.world.departed_words();
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    Sync(*m);
    result.allocated_words += m->allocated_words;
    result.young_words += m->used_bytes() / kWordBytes;
  }
  result.young_words += heap.young.young_bytes() / kWordBytes;
  result.born_old_words = heap.born_old_words;
  result.allocated_words += heap.born_old_words;
  result.old_words = heap.OldWords();
  result.custom_bytes = heap.custom_bytes;
  result.old_space_bytes = heap.blocks.bytes() + heap.large.bytes();
  heap.world.Resume();
  if (mutator != nullptr) PublishLimit(*mutator);
  return result;
}

}  // namespace allomon::gc::internal
