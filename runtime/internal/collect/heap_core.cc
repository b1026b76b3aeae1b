#include "runtime/internal/collect/heap_core.h"

#include <algorithm>

#include "runtime/internal/collect/own_thread.h"
#include "runtime/internal/object/check.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

// Rings of nodes that begin and end at their head, which is no element.
template <typename Node>
void LinkFirst(Node* node, Node* head) {
  node->previous = head;
  node->next = head->next;
  node->next->previous = head->next = node;
}

template <typename Node>
void Unlink(Node* node) {
  node->previous->next = node->next;
  node->next->previous = node->previous;
}

}  // namespace

// Up to four of those that the host has not counted: each further one adds less.
static size_t CountCollectors(const HeapOptions& options) {
  if (!options.background) return 1;
  if (options.collectors != 0) return options.collectors;
  return std::min<size_t>(CountProcessors(), 4);
}

static size_t LeastMarkedBytes(const HeapOptions& options) {
  const size_t most = SIZE_MAX / HeapOptions::kMarkedPerMoved;
  return std::min(options.collectors_from_bytes, most) * HeapOptions::kMarkedPerMoved;
}

HeapCore::HeapCore(const HeapOptions& heap_options)
    : options(heap_options),
      world(options.late_thread_ms, options.listener),
      nursery_bytes(RoundToSlices(heap_options.nursery_bytes)),
      n_collectors(CountCollectors(heap_options)),
      choice(heap_options.collectors_from_bytes),
      mark_choice(LeastMarkedBytes(heap_options)) {
  major_threshold_bytes = major_start_bytes = options.growth_floor_bytes;
  {
    const MutexHolder hold(globals_mutex);
    globals.previous = globals.next = &globals;
    root_blocks.previous = root_blocks.next = &root_blocks;
  }
}

void HeapCore::StartCollectors() { team.Start(n_collectors - 1); }

// The last collection has left those for whose ephemerons it had no memory.  They die with the
// heap.
void HeapCore::EndLeft() {
  Mutator* mutator = world.RemoveLeft();
  while (mutator != nullptr) {
    mutator->LeaveNursery(young);
    mutator->CloseOldWindow();
    samples.Leave(mutator->new_samples);
    delete std::exchange(mutator, mutator->next);
  }
}

HeapCore::~HeapCore() {
  ALLOMON_GC_CHECK(world.HasOnlyLeft(), "rule.detach: a heap is destroyed with threads attached");
  EndLeft();
  {
    const MutexHolder hold(globals_mutex);
    ALLOMON_GC_CHECK(globals.next == &globals && root_blocks.next == &root_blocks,
                     "rule.global: a Global, or a container of Locals, outlives its heap");
  }
  ALLOMON_GC_CHECK(coroutines.empty(),
                   "rule.stack: a RegisteredStack, or a frame, outlives its heap");
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

void HeapCore::CountBornOld(uint64_t words, size_t bytes) {
  born_old_words.fetch_add(words, std::memory_order_relaxed);
  grown_bytes.fetch_add(bytes, std::memory_order_relaxed);
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

// A heap that hardly fits its soft limit, or whose cgroup is full, still grows by a part of itself
// between two collections: they would take all time otherwise.
static constexpr uint64_t kLeastGrowth = 8;

void HeapCore::SetMajorThreshold() {
  const uint64_t live = OldWords() * kWordBytes + custom_bytes;
  uint64_t growth = live / 100 * options.growth_percent;
  if (const uint64_t soft = under_pressure ? live : options.soft_limit_bytes; soft != 0) {
    growth = std::min(growth, std::max(live / kLeastGrowth, soft > live ? soft - live : 0));
  }
  major_threshold_bytes = std::max<uint64_t>(options.growth_floor_bytes, growth);
  grown_bytes = 0;
  const uint64_t then_bytes = OldWords() * kWordBytes + major_threshold_bytes;
  major_start_bytes = then_bytes < options.incremental_from_bytes
                          ? major_threshold_bytes
                          : cycle.StartBytes(major_threshold_bytes);
}

void HeapCore::HeedPressure(uint64_t now_ns) {
  constexpr uint64_t kBetweenLooksNs = 100'000'000;
  if (options.cgroup_percent == 0 || now_ns < next_look_ns) return;
  next_look_ns = now_ns + kBetweenLooksNs;
  const allomon::internal::MemoryUsage usage = memory_limit.Read(options.cgroup_percent, now_ns);
  under_pressure = usage.limit_bytes != 0 && !usage.is_addresses &&
                   usage.used_bytes >= usage.limit_bytes / 100 * options.cgroup_percent;
  if (!under_pressure || cycle.is_active()) return;
  const uint64_t all = OldWords() * kWordBytes + custom_bytes;
  const uint64_t grown = std::min(grown_bytes.load(std::memory_order_relaxed), all);
  const uint64_t growth =
      std::max<uint64_t>(options.growth_floor_bytes, (all - grown) / kLeastGrowth);
  major_threshold_bytes = std::min(major_threshold_bytes, growth);
  major_start_bytes = std::min(major_start_bytes, growth);
}

bool HeapCore::SweepNextChunk() {
  const MutexHolder hold(blocks_mutex);
  return cycle.is_sweeping() && blocks.SweepNext();
}

bool HeapCore::WantsMajor(size_t bytes) const {
  const uint64_t most = cycle.is_active() ? cycle.next_pause_bytes.load(std::memory_order_relaxed)
                                          : major_start_bytes;
  return grown_bytes.load(std::memory_order_relaxed) + bytes > most;
}

// While it is marked, holes are not filled, so the old space takes more memory; near a limit all is
// marked at once.
bool HeapCore::MayMarkInSlices() {
  if (OldWords() * kWordBytes < options.incremental_from_bytes) return false;
  return LimitAllows((blocks.bytes() + large.bytes()) / 4);
}

bool HeapCore::AskForMemory(size_t bytes) {
  return options.on_out_of_memory != nullptr && options.on_out_of_memory(bytes);
}

bool HeapCore::AnyDue() const {
  return samples.any_due() || due_actions.load(std::memory_order_relaxed) != 0;
}

static bool ReleaseOneCustom(HeapCore& heap) {
  CustomBlockEntry entry = {};
  {
    const MutexHolder hold(heap.tables_mutex);
    if (!heap.customs.any_due()) return false;
    entry = heap.customs.TakeDue();
    heap.due_actions.fetch_sub(1, std::memory_order_relaxed);
  }
  heap.custom_bytes.fetch_sub(entry.bytes, std::memory_order_relaxed);
  entry.release(entry.data);
  return true;
}

static bool RunOneFinalizer(HeapCore& heap, Mutator* mutator) {
  if (mutator == nullptr) return false;
  std::function<void(Object*)> run;
  Object* object = nullptr;
  struct Scope {
    explicit Scope(Mutator* mutator) : mutator(mutator) { mutator->in_finalizer = true; }
    ~Scope() { mutator->in_finalizer = false; }
    Mutator* const mutator;
  } scope(mutator);
  {
    const MutexHolder hold(heap.tables_mutex);
    if (!heap.finalizers.any_due()) return false;
    Finalizer finalizer = heap.finalizers.TakeDue();
    object = finalizer.object;
    run = std::move(finalizer.run);
    heap.due_actions.fetch_sub(1, std::memory_order_relaxed);
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
         (ReleaseOneCustom(*this) || RunOneFinalizer(*this, mutator))) {
  }
}

void HeapCore::AddRootBlock(RootBlock* block) {
  const MutexHolder hold(globals_mutex);
  LinkFirst(block, &root_blocks);
}

void HeapCore::RemoveRootBlock(RootBlock* block) {
  const MutexHolder hold(globals_mutex);
  Unlink(block);
}

void HeapCore::AddGlobal(GlobalNode* node) {
  const MutexHolder hold(globals_mutex);
  LinkFirst(node, &globals);
}

void HeapCore::RemoveGlobal(GlobalNode* node) {
  const MutexHolder hold(globals_mutex);
  Unlink(node);
}

// std::bad_alloc is thrown after the mutex is released: malloc allocates the exception, and its
// sampling may run user code that takes the mutex.
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

}  // namespace allomon::gc::internal
