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
    root_blocks.previous = root_blocks.next = &root_blocks;
  }
  RegisterForFork(this);
}

HeapCore::~HeapCore() {
  ALLOMON_GC_CHECK(world.IsEmpty(), "rule.detach: a heap is destroyed with threads attached");
  {
    const MutexHolder hold(globals_mutex);
    ALLOMON_GC_CHECK(globals.next == &globals && root_blocks.next == &root_blocks,
                     "rule.global: a Global, or a container of Locals, outlives its heap");
  }
  ALLOMON_GC_CHECK(coroutines.empty(), "rule.stack: a RegisteredStack outlives its heap");
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
  Stand(*mutator);
  const bool joined = mutator->nursery.Join(young);
  if (joined) MakeReserve();
  const bool granted = joined && mutator->nursery.granted_bytes() > kMaxYoungBytes;
  world.Resume();
  if (!granted) {
    Detach(mutator);
    return nullptr;
  }
  mutator->PublishLimit();
  return mutator;
}

void HeapCore::Detach(Mutator* mutator) {
  ALLOMON_GC_CHECK(mutator->window->first_root == nullptr,
                   "rule.detach: a thread detaches while Roots of it live");
  while (!world.Stop(mutator)) {
  }
  // What other stacks refer to stays where it is, in slices that the heap takes over.
  mutator->stack.here.Clear();
  RunCollection(CollectionKind::kMinor);
  LeaveHeap(*mutator);
  world.Resume();
  world.Remove(mutator);
  delete mutator;
}

// What stays of the thread's objects is the heap's, with the ephemerons that refer to such.
void HeapCore::LeaveHeap(Mutator& mutator) {
  mutator.LeaveNursery();
  mutator.CloseOldWindow();
  const size_t ephemerons = left_weaks.size() + mutator.weaks.size();
  ALLOMON_GC_CHECK(TryReserve(left_weaks, ephemerons), "out of memory for ephemerons");
  left_weaks.insert(left_weaks.end(), mutator.weaks.begin(), mutator.weaks.end());
  mutator.weaks.clear();
}

// Of the holes that a mutator may fill until the next collection.
static size_t WantedBytes(const Mutator& mutator) {
  return std::min(mutator.nursery.hole_bytes(), mutator.nursery.wanted_bytes());
}

// All that a collection may have to promote: what stays now may have to go then.
size_t HeapCore::NurseryBytes() const {
  size_t bytes = young.stays_bytes();
  for (Mutator* m = world.first(); m != nullptr; m = m->next) bytes += WantedBytes(*m);
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

char* HeapCore::TakeSpareBlock() {
  const MutexHolder hold(blocks_mutex_);
  return blocks.free_blocks() > reserve_blocks_ ? blocks.TakeFreeBlock() : nullptr;
}

char* HeapCore::TakeOldBlock(Mutator* mutator) {
  char* const block = TakeSpareBlock();
  if (block != nullptr) return block;
  while (!world.Stop(mutator)) {
  }
  GrowTo(reserve_blocks_ + 1);
  world.Resume();
  return TakeSpareBlock();
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

size_t HeapCore::GrantedBytes() const {
  size_t bytes = 0;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) bytes += m->nursery.granted_bytes();
  return bytes;
}

// inv.reserve: the objects that the nurseries may hold can be promoted.  If the reserve is short,
// each nursery gets its share of it.
void HeapCore::GrantNurseries() {
  const size_t stays = young.stays_bytes();
  const size_t wanted = NurseryBytes() - stays;
  size_t can = wanted;
  while (can > 0 && BlockSpace::BlocksFor(can + stays) > blocks.free_blocks()) can -= can / 8 + 1;
  // Without room for them, the objects that stay keep their places until a major collection.
  if (BlockSpace::BlocksFor(can + stays) > blocks.free_blocks()) {
    young.ForEachStay([](Object* object) { HeaderOf(object) |= kStaysBit | kTenuredBit; });
  }
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    const double share = wanted == 0 ? 0 : static_cast<double>(can) / static_cast<double>(wanted);
    const size_t whole = WantedBytes(*m);
    size_t granted =
        can == wanted ? whole : static_cast<size_t>(static_cast<double>(whole) * share);
    granted = std::max(granted / kWordBytes * kWordBytes, m->used_bytes());
    // A smaller grant is not worth a collection each time.
    m->nursery.Grant(granted < 4 * kMaxYoungBytes ? m->used_bytes() : granted);
  }
  reserve_blocks_ = BlockSpace::BlocksFor(GrantedBytes() + stays);
  ALLOMON_DCHECK("inv.reserve", GrantedFits());
}

// For debug builds.
bool HeapCore::GrantedFits() const {
  return GrantedBytes() == 0 || reserve_blocks_ <= blocks.free_blocks();
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

void HeapCore::Collect(CollectionKind kind, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  if (mutator != nullptr) Stand(*mutator);
  RunCollection(kind);
  world.Resume();
}

void HeapCore::CollectFromTop(CollectionKind kind, Mutator* mutator) {
  const Standing standing(this);
  while (!world.Stop(mutator)) {
  }
  if (mutator != nullptr) mutator->stack.here.Clear();
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
  Object* object = nullptr;
  struct Scope {
    explicit Scope(Mutator* mutator) : mutator(mutator) { mutator->in_finalizer = true; }
    ~Scope() { mutator->in_finalizer = false; }
    Mutator* const mutator;
  } scope(mutator);
  {
    const MutexHolder hold(tables_mutex);
    if (!finalizers.any_due()) return false;
    Finalizer finalizer = finalizers.TakeDue();
    object = finalizer.object;
    run = std::move(finalizer.run);
    due_actions.fetch_sub(1, std::memory_order_relaxed);
  }
  run(object);
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

void HeapCore::AddRootBlock(RootBlock* block) {
  const MutexHolder hold(globals_mutex);
  block->previous = &root_blocks;
  block->next = root_blocks.next;
  block->next->previous = root_blocks.next = block;
}

void HeapCore::RemoveRootBlock(RootBlock* block) {
  const MutexHolder hold(globals_mutex);
  block->previous->next = block->next;
  block->next->previous = block->previous;
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
void HeapCore::AddFinalizer(Object* object, std::function<void(Object*)> run) {
  bool has_room = false;
  {
    const MutexHolder hold(tables_mutex);
    has_room = finalizers.Reserve();
    if (has_room) finalizers.Add({object, std::move(run)});
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
  result.allocated_words = world.departed_words();
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    m->Sync();
    result.allocated_words += m->allocated_words;
    result.young_words += m->used_bytes() / kWordBytes;
  }
  result.young_words += young.young_bytes() / kWordBytes;
  result.born_old_words = born_old_words;
  result.allocated_words += born_old_words;
  result.old_words = OldWords();
  result.custom_bytes = custom_bytes;
  result.old_space_bytes = blocks.bytes() + large.bytes();
  world.Resume();
  if (mutator != nullptr) mutator->PublishLimit();
  return result;
}

}  // namespace allomon::gc::internal
