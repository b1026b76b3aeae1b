#include "runtime/internal/collect/fork.h"

#include <pthread.h>

#include <utility>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/standing.h"
#include "tracker/base/mutex.h"
#include "tracker/base/thread_id.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {
namespace {

// A thread that waits for this mutex stands (class Standing).  A thread holds the mutex only as
// long as a change of the list takes.  Only the forking thread holds it while it waits for worlds.
Mutex g_heaps_mutex;
HeapCore* g_heaps ALLOMON_GUARDED_BY(g_heaps_mutex) = nullptr;

template <typename Visit>
void ForEachHeap(Visit visit) ALLOMON_REQUIRES(g_heaps_mutex) {
  for (HeapCore* heap = g_heaps; heap != nullptr; heap = heap->next_heap) visit(*heap);
}

// Stops all worlds before it takes the first lock: a thread that waits for a lock of one heap may
// be a thread that another heap's world waits for.
void BeforeFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  {
    const Standing standing;
    g_heaps_mutex.lock();
  }
  ForEachHeap([](HeapCore& heap) { heap.StopForFork(); });
  ForEachHeap([](HeapCore& heap) { heap.LockForFork(); });
  SiteTable::Get().LockForFork();
}

void AfterForkInParent() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SiteTable::Get().UnlockAfterFork();
  ForEachHeap([](HeapCore& heap) { heap.AfterForkInParent(); });
  g_heaps_mutex.unlock();
}

void AfterForkInChild() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SiteTable::Get().UnlockAfterFork();
  ForEachHeap([](HeapCore& heap) { heap.AfterForkInChild(); });
  g_heaps_mutex.unlock();
}

// The tracker's handlers are installed first.  Handlers installed later run earlier before a fork,
// so the wait for other threads happens while the tracker's locks are still free.
void InstallHandlersOnce() {
  static const int installed = [] {
    heap_client::InstallForkHandlers();
    return pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  }();
  static_cast<void>(installed);
}

}  // namespace

void RegisterForFork(HeapCore* heap) {
  InstallHandlersOnce();
  const Standing standing;
  const MutexHolder hold(g_heaps_mutex);
  heap->next_heap = g_heaps;
  if (g_heaps != nullptr) g_heaps->previous_heap = heap;
  g_heaps = heap;
}

void UnregisterForFork(HeapCore* heap) {
  const Standing standing;
  const MutexHolder hold(g_heaps_mutex);
  (heap->previous_heap != nullptr ? heap->previous_heap->next_heap : g_heaps) = heap->next_heap;
  if (heap->next_heap != nullptr) heap->next_heap->previous_heap = heap->previous_heap;
}

// Returns this thread's mutator of that heap, or nullptr.
static Mutator* MutatorHere(HeapCore* heap) {
  Mutator* const mutator = t_window.mutator;
  return mutator != nullptr && mutator->heap == heap ? mutator : nullptr;
}

void HeapCore::StopForFork() {
  Mutator* const mutator = MutatorHere(this);
  while (!world.Stop(mutator != nullptr && mutator->runs() ? mutator : nullptr)) {
  }
}

void HeapCore::LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  helper_.LockForFork();
  cycle.LockForFork();
  globals_mutex.lock();
  tables_mutex.lock();
  blocks.stock().LockForFork();
}

void HeapCore::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  blocks.stock().UnlockAfterFork();
  tables_mutex.unlock();
  globals_mutex.unlock();
  cycle.UnlockAfterFork();
  helper_.UnlockAfterFork();
}

void HeapCore::AfterForkInParent() {
  UnlockAfterFork();
  world.Resume();
  Mutator* const mutator = MutatorHere(this);
  if (mutator != nullptr && mutator->runs()) mutator->PublishLimit();
}

// The other threads do not exist in the child.  Objects that only they reached are garbage, but
// their nurseries may hold objects that other roots reach.  A collection empties all nurseries
// first, without the roots and the stacks of the other threads.
void HeapCore::AfterForkInChild() {
  cycle.ResetInForkedChild();
  helper_.ResetInForkedChild();
  UnlockAfterFork();
  Mutator* const own = MutatorHere(this);
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    if (m == own) continue;
    m->window->first_root = nullptr;
    m->stack.here.Clear();
    m->clock.Abandon();
    m->ranges.clear();
  }
  coroutines.ResetInForkedChild();
  if (own != nullptr && own->state.load(std::memory_order_relaxed) == MutatorState::kStopping) {
    Stand(*own);
  }
  RunCollection(CollectionKind::kMinor);
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    if (m != own) LeaveHeap(*m);
  }
  Mutator* dead = world.ResetAfterFork(own);
  while (dead != nullptr) delete std::exchange(dead, dead->next);
  if (own != nullptr) own->thread_id = allomon::internal::OwnThreadId();
  if (own != nullptr && own->runs()) own->PublishLimit();
}

}  // namespace allomon::gc::internal
