#include "runtime/internal/heap_core.h"

#include <time.h>

#include <algorithm>

#include "runtime/internal/check.h"
#include "runtime/internal/collector.h"
#include "runtime/internal/fork.h"
#include "runtime/internal/standing.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

}  // namespace

HeapCore::HeapCore(const HeapOptions& heap_options)
    : options(heap_options), nursery_bytes_(RoundToSlices(heap_options.nursery_bytes)) {
  major_threshold_bytes = options.growth_floor_bytes;
  {
    const MutexHolder hold(globals_mutex);
    globals.previous = globals.next = &globals;
  }
  RegisterForFork(this);
}

HeapCore::~HeapCore() {
  ALLOMON_GC_CHECK(world.IsEmpty(), "rule.detach: a heap is destroyed with threads attached");
  {
    const MutexHolder hold(globals_mutex);
    ALLOMON_GC_CHECK(globals.next == &globals, "rule.global: a Global outlives its heap");
  }
  UnregisterForFork(this);
  samples.AllDie();
  {
    const MutexHolder hold(tables_mutex);
    due_actions += customs.MoveDead(0, [](const CustomBlockEntry&) { return true; });
  }
  for (bool more = true; more;) {
    try {
      RunDue(nullptr);
      more = false;
    } catch (...) {  // the tracker has counted the exception; a destructor must not throw
    }
  }
}

Mutator* HeapCore::Attach() {
  Mutator* mutator = new Mutator;
  if (!mutator->Init(this, nursery_bytes_)) {
    delete mutator;
    return nullptr;
  }
  world.Add(mutator);
  // With the world stopped, the reserve for the mutator's nursery is made.
  while (!world.Stop(mutator)) {
  }
  MakeReserve();
  const bool granted = mutator->granted_bytes > kMaxYoungBytes;
  world.Resume();
  if (!granted) {
    Detach(mutator);
    return nullptr;
  }
  mutator->PublishLimit();
  return mutator;
}

void HeapCore::Detach(Mutator* mutator) {
  mutator->TrimRoots();
  ALLOMON_GC_CHECK(mutator->window->root_top == mutator->roots,
                   "rule.detach: a thread detaches while Locals of it live");
  // The thread's nursery is freed with its mutator, so it is emptied first.
  Collect(CollectionKind::kMinor, mutator);
  world.Remove(mutator);
  delete mutator;
}

size_t HeapCore::NurseryBytes() const {
  size_t bytes = 0;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) bytes += m->nursery_bytes;
  return bytes;
}

bool HeapCore::LimitAllows(size_t bytes) {
  return options.limit_bytes == 0 || blocks.bytes() + large.bytes() + bytes <= options.limit_bytes;
}

// A running thread may read the chunks: they are added and freed only while the world is stopped.
Object* HeapCore::AllocateLarge(uint64_t words) {
  if (options.limit_bytes == 0) return large.Allocate(words, SIZE_MAX);
  const size_t chunk_bytes = std::min(blocks.bytes(), options.limit_bytes);
  return large.Allocate(words, options.limit_bytes - chunk_bytes);
}

bool HeapCore::GrowTo(size_t free_blocks) {
  while (blocks.free_blocks() < free_blocks) {
    if (!LimitAllows(kChunkBytes) || !blocks.AddChunk()) return false;
    const uint64_t bytes = blocks.bytes() + large.bytes();
    statistics.peak_old_space_bytes = std::max(statistics.peak_old_space_bytes, bytes);
    if (options.listener != nullptr) options.listener->OnGrowth(bytes);
  }
  return true;
}

// inv.reserve: the objects that the nurseries may hold can be promoted.  If the reserve is short,
// each nursery gets its share of it.
void HeapCore::GrantNurseries() {
  const size_t wanted = NurseryBytes();
  size_t can = wanted;
  while (can > 0 && BlockSpace::BlocksFor(can) > blocks.free_blocks()) can -= can / 8 + 1;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    const double share = wanted == 0 ? 0 : static_cast<double>(can) / static_cast<double>(wanted);
    size_t granted = can == wanted
                         ? m->nursery_bytes
                         : static_cast<size_t>(static_cast<double>(m->nursery_bytes) * share);
    granted = std::max(granted / kWordBytes * kWordBytes, m->used_bytes());
    // A smaller grant is not worth a collection each time.
    m->granted_bytes = granted < 4 * kMaxYoungBytes ? m->used_bytes() : granted;
  }
  ALLOMON_DCHECK("inv.reserve", GrantedFits());
}

// For debug builds.
bool HeapCore::GrantedFits() const {
  size_t granted = 0;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) granted += m->granted_bytes;
  return granted == 0 || BlockSpace::BlocksFor(granted) <= blocks.free_blocks();
}

bool HeapCore::GrowReserve() { return GrowTo(BlockSpace::BlocksFor(NurseryBytes())); }

// The present contents of the nurseries are granted whatever the share, so a reserve that is short
// can be shared out only when the nurseries are empty.
void HeapCore::MakeReserve() {
  if (GrowReserve()) {
    GrantNurseries();
  } else {
    RunCollection(CollectionKind::kMinor);
  }
}

void HeapCore::MajorStopped() {
  const size_t reserve = BlockSpace::BlocksFor(NurseryBytes());
  MarkAndSweep(*this, reserve + major_threshold_bytes / kBlockBytes);
  const uint64_t live = OldWords() * kWordBytes + custom_bytes;
  major_threshold_bytes =
      std::max<uint64_t>(options.growth_floor_bytes, live / 100 * options.growth_percent);
  grown_bytes = 0;
}

bool HeapCore::WantsMajor(size_t bytes) const {
  return grown_bytes.load(std::memory_order_relaxed) + bytes > major_threshold_bytes;
}

void HeapCore::RunCollection(CollectionKind kind) {
  if (kind == CollectionKind::kMinor && WantsMajor(0)) kind = CollectionKind::kMajor;
  const uint64_t start = NowNs();
  const uint64_t promoted_words = statistics.promoted_words;
  CollectorScope collector;
  if (options.listener != nullptr) options.listener->OnCollectionStart(kind);
  const MutexHolder hold_globals(globals_mutex);
  const MutexHolder hold_tables(tables_mutex);
  CollectMinor(*this);
  if (options.verify) VerifyHeap(*this);
  if (kind == CollectionKind::kMajor) {
    MajorStopped();
    if (options.verify) VerifyHeap(*this);
  }
  GrowReserve();
  GrantNurseries();
  collector.AddBytes((statistics.promoted_words - promoted_words) * kWordBytes);
  const uint64_t ns = NowNs() - start;
  CountPause(kind, ns);
  if (options.listener != nullptr) options.listener->OnCollectionEnd(kind, ns);
}

void HeapCore::CountPause(CollectionKind kind, uint64_t ns) {
  int bucket = 0;
  while (bucket < HeapStatistics::kPauseBuckets - 1 && (ns / 1000) >> bucket != 0) ++bucket;
  ++(kind == CollectionKind::kMinor ? statistics.minor_pauses : statistics.major_pauses)[bucket];
  statistics.total_pause_ns += ns;
  statistics.longest_pause_ns = std::max(statistics.longest_pause_ns, ns);
}

void HeapCore::Collect(CollectionKind kind, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  RunCollection(kind);
  world.Resume();
}

void HeapCore::CollectAndLook(LiveObjectsVisitor& visitor, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  RunCollection(CollectionKind::kMajor);
  visitor.Look(*this);
  world.Resume();
}

void HeapCore::CollectForRoom(Mutator& mutator) {
  // Another thread's collection, for which this thread was parked, has left its nursery empty.
  if (!world.Stop(&mutator)) return;
  RunCollection(CollectionKind::kMinor);
  world.Resume();
}

void HeapCore::CountBornOld(uint64_t words, size_t bytes) {
  born_old_words.fetch_add(words, std::memory_order_relaxed);
  grown_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

bool HeapCore::AskForMemory(size_t bytes) {
  return options.on_out_of_memory != nullptr && options.on_out_of_memory(bytes);
}

bool HeapCore::AnyDue() const {
  return samples.any_due() || due_actions.load(std::memory_order_relaxed) != 0;
}

bool HeapCore::ReleaseOneCustom() {
  CustomBlockEntry entry = {};
  {
    const MutexHolder hold(tables_mutex);
    if (!customs.any_due()) return false;
    entry = customs.TakeDue();
    due_actions.fetch_sub(1, std::memory_order_relaxed);
  }
  custom_bytes.fetch_sub(entry.bytes, std::memory_order_relaxed);
  entry.release(entry.data);
  return true;
}

bool HeapCore::RunOneFinalizer(Mutator* mutator) {
  if (mutator == nullptr) return false;
  std::function<void(Object*)> run;
  struct Scope {
    explicit Scope(Mutator* mutator) : mutator(mutator), root(TakeRoot(nullptr)) {
      mutator->in_finalizer = true;
    }
    ~Scope() {
      mutator->in_finalizer = false;
      ReleaseRoot(root);
    }
    Mutator* const mutator;
    Slot* const root;
  } scope(mutator);
  {
    const MutexHolder hold(tables_mutex);
    if (!finalizers.any_due()) return false;
    Finalizer finalizer = finalizers.TakeDue();
    *scope.root = finalizer.object;
    run = std::move(finalizer.run);
    due_actions.fetch_sub(1, std::memory_order_relaxed);
  }
  run(*scope.root);
  return true;
}

void HeapCore::RunDue(Mutator* mutator) {
  if (!AnyDue() || heap_client::InCallback()) return;
  if (mutator != nullptr && mutator->in_finalizer) return;
  std::exception_ptr thrown;
  samples.RunDue(&thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  // Releases run before finalizers; each kind runs in its own order.
  while (due_actions.load(std::memory_order_relaxed) != 0 &&
         (ReleaseOneCustom() || RunOneFinalizer(mutator))) {
  }
}

void HeapCore::AddGlobal(GlobalNode* node) {
  const MutexHolder hold(globals_mutex);
  node->previous = &globals;
  node->next = globals.next;
  node->next->previous = globals.next = node;
}

void HeapCore::RemoveGlobal(GlobalNode* node) {
  const MutexHolder hold(globals_mutex);
  node->previous->next = node->next;
  node->next->previous = node->previous;
}

// std::bad_alloc is thrown after the mutex is released: an exception is an object of malloc's,
// whose sampling may run user code that takes the mutex.
void HeapCore::AddFinalizer(const Slot* object, std::function<void(Object*)> run) {
  bool has_room = false;
  {
    const MutexHolder hold(tables_mutex);
    has_room = finalizers.Reserve();
    if (has_room) finalizers.Add({*object, std::move(run)});
  }
  if (!has_room) throw std::bad_alloc();
}

void HeapCore::ReserveCustom() {
  bool has_room = false;
  {
    const MutexHolder hold(tables_mutex);
    has_room = customs.Reserve();
  }
  if (!has_room) throw std::bad_alloc();
}

void HeapCore::UnreserveCustom() {
  const MutexHolder hold(tables_mutex);
  customs.Unreserve();
}

void HeapCore::AddCustom(const CustomBlockEntry& entry) {
  custom_bytes.fetch_add(entry.bytes, std::memory_order_relaxed);
  grown_bytes.fetch_add(entry.bytes, std::memory_order_relaxed);
  const MutexHolder hold(tables_mutex);
  customs.Add(entry);
}

HeapStatistics HeapCore::Statistics(Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  HeapStatistics result = statistics;
  result.allocated_words = world.departed_words() + born_old_words;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    m->Sync();
    result.allocated_words += m->allocated_words;
    result.young_words += m->used_bytes() / kWordBytes;
  }
  result.born_old_words = born_old_words;
  result.old_words = OldWords();
  result.custom_bytes = custom_bytes;
  result.old_space_bytes = blocks.bytes() + large.bytes();
  world.Resume();
  if (mutator != nullptr) mutator->PublishLimit();
  return result;
}

}  // namespace allomon::gc::internal
