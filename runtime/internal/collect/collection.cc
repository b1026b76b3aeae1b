// Begins and ends collections: stops the world, and afterwards grants the nurseries their room
// again.
#include <algorithm>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/object/now.h"
#include "runtime/internal/collect/standing.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {

void HeapCore::SetMajorThreshold() {
  const uint64_t live = OldWords() * kWordBytes + custom_bytes;
  major_threshold_bytes =
      std::max<uint64_t>(options.growth_floor_bytes, live / 100 * options.growth_percent);
  grown_bytes = 0;
  const uint64_t then_bytes = OldWords() * kWordBytes + major_threshold_bytes;
  major_start_bytes = then_bytes < options.incremental_from_bytes
                          ? major_threshold_bytes
                          : cycle.StartBytes(major_threshold_bytes);
}

size_t HeapCore::BlocksToKeep() {
  return BlockSpace::BlocksFor(NurseryBytes()) + major_threshold_bytes / kBlockBytes;
}

bool HeapCore::SweepNextChunk() {
  const MutexHolder hold(blocks_mutex_);
  return cycle.is_sweeping() && blocks.SweepNext();
}

bool HeapCore::MajorStopped() {
  const bool marked = MarkAndSweep(*this, BlocksToKeep());
  SetMajorThreshold();
  return marked;
}

bool HeapCore::WantsMajor(size_t bytes) const {
  const uint64_t most = cycle.is_active() ? cycle.next_pause_bytes() : major_start_bytes;
  return grown_bytes.load(std::memory_order_relaxed) + bytes > most;
}

// During marking in slices holes are not filled, so the old space takes more memory; near the limit
// the heap is marked in one pause.
bool HeapCore::MayMarkInSlices() {
  if (OldWords() * kWordBytes < options.incremental_from_bytes) return false;
  return LimitAllows((blocks.bytes() + large.bytes()) / 4);
}

// Called after the minor collection.
bool HeapCore::MajorPart(CollectionKind kind, bool due,
                         uint64_t pause_start_ns) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  if (kind == CollectionKind::kMajor) {
    cycle.Complete();
    return MajorStopped();
  }
  if (cycle.is_active()) return cycle.Pause(pause_start_ns), true;
  if (!due) return true;
  return (MayMarkInSlices() && cycle.Begin()) || MajorStopped();
}

bool HeapCore::RunCollection(CollectionKind kind, bool due) {
  due = due || WantsMajor(0);
  const bool is_major = kind == CollectionKind::kMajor || due || cycle.is_active();
  const CollectionKind pause = is_major ? CollectionKind::kMajor : CollectionKind::kMinor;
  const uint64_t start = NowNs();
  const uint64_t promoted_words = statistics.promoted_words;
  const uint64_t freed_words = statistics.freed_young_words;
  CollectorScope collector;
  const MarkCycle::Hold hold_cycle(cycle);
  if (options.listener != nullptr) options.listener->OnCollectionStart(pause);
  const MutexHolder hold_globals(globals_mutex);
  const MutexHolder hold_tables(tables_mutex);
  CollectMinor(*this);
  const uint64_t promoted_bytes = (statistics.promoted_words - promoted_words) * kWordBytes;
  const uint64_t died_bytes = (statistics.freed_young_words - freed_words) * kWordBytes;
  share_.Note(promoted_bytes, promoted_bytes + died_bytes, NowNs() - start);
  if (options.verify) VerifyHeap(*this);
  const bool done = MajorPart(kind, due, start);
  if (options.verify && is_major) VerifyHeap(*this);
  ResizeNurseries();
  GrowReserve();
  GrantNurseries();
  collector.AddBytes(promoted_bytes);
  const uint64_t ns = NowNs() - start;
  CountPause(pause, ns);
  if (options.listener != nullptr) options.listener->OnCollectionEnd(pause, ns);
  return done;
}

// A scan of deep stacks costs as much as their words and the objects that they pin.  A nursery of
// several times the stack's size keeps that cost in proportion to the allocations between two
// scans. Measured with 10,000 to 1,000,000 frames: a nursery larger than this misses the caches.
static size_t WantedNursery(const Mutator& mutator) {
  const size_t stack_bytes = mutator.stack.SizeBytes();
  const size_t most = std::max<size_t>(16 << 20, 4 * stack_bytes);
  return std::max(mutator.nursery.size_bytes(), std::min(8 * stack_bytes, most));
}

void HeapCore::ResizeNurseries() {
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    m->nursery.Resize(young, WantedNursery(*m));
    m->synced = m->window->cursor;
  }
}

void HeapCore::CountPause(CollectionKind kind, uint64_t ns) {
  int bucket = 0;
  while (bucket < HeapStatistics::kPauseBuckets - 1 && (ns / 1000) >> bucket != 0) ++bucket;
  ++(kind == CollectionKind::kMinor ? statistics.minor_pauses : statistics.major_pauses)[bucket];
  statistics.total_pause_ns += ns;
  statistics.longest_pause_ns = std::max(statistics.longest_pause_ns, ns);
}

void HeapCore::Collect(CollectionKind kind, Mutator* mutator, OwnStack own_stack) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  if (mutator != nullptr && own_stack == OwnStack::kKeeps) Stand(*mutator);
  if (mutator != nullptr && own_stack == OwnStack::kKeepsNothing) mutator->stack.here.Clear();
  RunCollection(kind);
  ResumeAfterCollection();
}

void HeapCore::CollectAndLook(LiveObjectsVisitor& visitor, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  if (mutator != nullptr) Stand(*mutator);
  const bool done = RunCollection(CollectionKind::kMajor);
  if (done) visitor.Look(*this);
  ResumeAfterCollection();
  if (!done) throw std::bad_alloc();
}

void HeapCore::CollectForRoom(Mutator& mutator) {
  // This thread was parked for another thread's collection, which has emptied its nursery.
  if (!world.Stop(&mutator)) return;
  Stand(mutator);
  RunCollection(CollectionKind::kMinor);
  ResumeAfterCollection();
}

void HeapCore::CollectForGrowth(Mutator& mutator) {
  while (!world.Stop(&mutator)) {
  }
  Stand(mutator);
  RunCollection(CollectionKind::kMinor, true);
  ResumeAfterCollection();
}

void HeapCore::ResumeAfterCollection() {
  const bool in_slices = MayMarkInSlices();
  blocks.SetPrefersSmallPages(in_slices);
  blocks.stock().SetWanted(options.background && in_slices);
  const bool has_work = options.background && (cycle.is_active() || blocks.stock().IsShort());
  world.Resume();
  if (has_work) helper_.Wake();
}

}  // namespace allomon::gc::internal
