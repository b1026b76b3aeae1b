// How collections begin and end: the world is stopped, the nurseries get their room again.
#include <time.h>

#include <algorithm>

#include "runtime/internal/collector.h"
#include "runtime/internal/heap_core.h"
#include "runtime/internal/standing.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {

static uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

bool HeapCore::MajorStopped() {
  const size_t reserve = BlockSpace::BlocksFor(NurseryBytes());
  const bool marked = MarkAndSweep(*this, reserve + major_threshold_bytes / kBlockBytes);
  const uint64_t live = OldWords() * kWordBytes + custom_bytes;
  major_threshold_bytes =
      std::max<uint64_t>(options.growth_floor_bytes, live / 100 * options.growth_percent);
  grown_bytes = 0;
  return marked;
}

bool HeapCore::WantsMajor(size_t bytes) const {
  return grown_bytes.load(std::memory_order_relaxed) + bytes > major_threshold_bytes;
}

bool HeapCore::RunCollection(CollectionKind kind) {
  if (kind == CollectionKind::kMinor && WantsMajor(0)) kind = CollectionKind::kMajor;
  const uint64_t start = NowNs();
  const uint64_t promoted_words = statistics.promoted_words;
  CollectorScope collector;
  if (options.listener != nullptr) options.listener->OnCollectionStart(kind);
  const MutexHolder hold_globals(globals_mutex);
  const MutexHolder hold_tables(tables_mutex);
  CollectMinor(*this);
  bool done = true;
  if (options.verify) VerifyHeap(*this);
  if (kind == CollectionKind::kMajor) {
    done = MajorStopped();
    if (options.verify) VerifyHeap(*this);
  }
  ResizeNurseries();
  GrowReserve();
  GrantNurseries();
  collector.AddBytes((statistics.promoted_words - promoted_words) * kWordBytes);
  const uint64_t ns = NowNs() - start;
  CountPause(kind, ns);
  if (options.listener != nullptr) options.listener->OnCollectionEnd(kind, ns);
  return done;
}

// A scan of deep stacks costs as much as their words, and as the objects that they keep in place. A
// nursery of several times the stack keeps that in proportion to the allocations between two scans.
// Measured with 10,000 to 1,000,000 frames: a larger nursery than this misses the caches.
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
  world.Resume();
}

void HeapCore::CollectAndLook(LiveObjectsVisitor& visitor, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  if (mutator != nullptr) Stand(*mutator);
  const bool done = RunCollection(CollectionKind::kMajor);
  if (done) visitor.Look(*this);
  world.Resume();
  if (!done) throw std::bad_alloc();
}

void HeapCore::CollectForRoom(Mutator& mutator) {
  // Another thread's collection, for which this thread was parked, has left its nursery empty.
  if (!world.Stop(&mutator)) return;
  Stand(mutator);
  RunCollection(CollectionKind::kMinor);
  world.Resume();
}

}  // namespace allomon::gc::internal
