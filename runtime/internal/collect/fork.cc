#include "runtime/internal/collect/fork.h"

#include <pthread.h>

#include <utility>

#include "runtime/internal/collect/attach.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/standing.h"
#include "runtime/internal/tables/site_table.h"
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

void StopForFork(HeapCore& heap) {
  Mutator* const mutator = MutatorHere(heap);
  heap.world.StopSurely(mutator != nullptr && mutator->runs() ? mutator : nullptr);
}

void LockForFork(HeapCore& heap) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  heap.helper.LockForFork();
  heap.team.LockForFork();
  heap.cycle.LockForFork();
  heap.globals_mutex.lock();
  heap.tables_mutex.lock();
  heap.coroutines.LockForFork();
  heap.blocks.stock().LockForFork();
}

void UnlockAfterFork(HeapCore& heap) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  heap.blocks.stock().UnlockAfterFork();
  heap.coroutines.UnlockAfterFork();
  heap.tables_mutex.unlock();
  heap.globals_mutex.unlock();
  heap.cycle.UnlockAfterFork();
  heap.team.UnlockAfterFork();
  heap.helper.UnlockAfterFork();
}

void ResumeInParent(HeapCore& heap) {
  UnlockAfterFork(heap);
  heap.world.Resume();
  Mutator* const mutator = MutatorHere(heap);
  if (mutator != nullptr && mutator->runs()) PublishLimit(*mutator);
}

// The other threads do not exist in the child.  Objects that only they reached are garbage, but
// their nurseries may hold objects that other roots reach.  A collection empties all nurseries
// first, without the roots and the stacks of the other threads.
void ResumeInChild(HeapCore& heap) {
  heap.cycle.ResetInForkedChild();
  heap.helper.ResetInForkedChild();
  heap.team.ResetInForkedChild();
  UnlockAfterFork(heap);
  Mutator* const own = MutatorHere(heap);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    if (m == own) continue;
    m->window->first_root = nullptr;
    m->stack.here.Clear();
    m->clock.Abandon();
    m->ranges.clear();
  }
  if (own != nullptr && own->state.load(std::memory_order_relaxed) == MutatorState::kStopping) {
    Stand(*own);
  }
  RunCollection(heap, CollectionKind::kMinor);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    if (m != own) LeaveHeap(heap, *m);
  }
  Mutator* dead = heap.world.ResetAfterFork(own);
  while (dead != nullptr) delete std::exchange(dead, dead->next);
  while (heap.gone != nullptr) delete std::exchange(heap.gone, heap.gone->next);
  if (own != nullptr) own->thread_id = allomon::internal::OwnThreadId();
  if (own != nullptr && own->runs()) PublishLimit(*own);
}

// Stops all worlds before it takes the first lock: a thread that waits for a lock of one heap may
// be a thread that another heap's world waits for.
void BeforeFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  {
    const Standing standing;
    g_heaps_mutex.lock();
  }
  ForEachHeap([](HeapCore& heap) { StopForFork(heap); });
  ForEachHeap([](HeapCore& heap) { LockForFork(heap); });
  SiteTable::Get().LockForFork();
}

void AfterForkInParent() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SiteTable::Get().UnlockAfterFork();
  ForEachHeap([](HeapCore& heap) { ResumeInParent(heap); });
  g_heaps_mutex.unlock();
}

void AfterForkInChild() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SiteTable::Get().UnlockAfterFork();
  ForEachHeap([](HeapCore& heap) { ResumeInChild(heap); });
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

}  // namespace allomon::gc::internal
