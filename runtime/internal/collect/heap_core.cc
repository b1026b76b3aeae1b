#include "runtime/internal/collect/heap_core.h"

#include "runtime/internal/object/check.h"
#include "runtime/internal/collect/fork.h"
#include "runtime/internal/collect/standing.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

__attribute__((constructor(101))) void TellTracker() { heap_client::AnnounceHeap(); }

}  // namespace

HeapCore::HeapCore(const HeapOptions& heap_options)
    : options(heap_options), nursery_bytes_(RoundToSlices(heap_options.nursery_bytes)) {
  major_threshold_bytes = major_start_bytes = options.growth_floor_bytes;
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
  // Stops the world to make the reserve for the mutator's nursery.
  while (!world.Stop(mutator)) {
  }
  Stand(*mutator);
  mutator->window->marking = cycle.is_marking();
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
  // Objects that other stacks refer to stay in place, in slices that the heap takes over.
  mutator->stack.here.Clear();
  RunCollection(CollectionKind::kMinor);
  LeaveHeap(*mutator);
  world.Resume();
  world.Remove(mutator);
  delete mutator;
}

// The heap takes over the thread's objects that stay, and the ephemerons that refer to them.
void HeapCore::LeaveHeap(Mutator& mutator) {
  mutator.LeaveNursery();
  mutator.CloseOldWindow();
  samples.Leave(mutator.new_samples);
  const size_t ephemerons = left_weaks.size() + mutator.weaks.size();
  ALLOMON_GC_CHECK(TryReserve(left_weaks, ephemerons), "out of memory for ephemerons");
  left_weaks.insert(left_weaks.end(), mutator.weaks.begin(), mutator.weaks.end());
  mutator.weaks.clear();
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
