#include "runtime/internal/fork.h"

#include <pthread.h>

#include <mutex>

#include "runtime/internal/heap_core.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {
namespace {

std::mutex g_heaps_mutex;
HeapCore* g_heaps = nullptr;

template <typename Visit>
void ForEachHeap(Visit visit) {
  for (HeapCore* heap = g_heaps; heap != nullptr; heap = heap->next_heap) visit(*heap);
}

void BeforeFork() {
  g_heaps_mutex.lock();
  ForEachHeap([](HeapCore& heap) { heap.BeforeFork(); });
}

void AfterForkInParent() {
  ForEachHeap([](HeapCore& heap) { heap.AfterForkInParent(); });
  g_heaps_mutex.unlock();
}

void AfterForkInChild() {
  ForEachHeap([](HeapCore& heap) { heap.AfterForkInChild(); });
  g_heaps_mutex.unlock();
}

// The tracker's handlers first: those installed later run earlier before a fork, so we
// wait for other threads while the tracker's locks are still free.
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
  std::lock_guard<std::mutex> hold(g_heaps_mutex);
  heap->next_heap = g_heaps;
  if (g_heaps != nullptr) g_heaps->previous_heap = heap;
  g_heaps = heap;
}

void UnregisterForFork(HeapCore* heap) {
  std::lock_guard<std::mutex> hold(g_heaps_mutex);
  (heap->previous_heap != nullptr ? heap->previous_heap->next_heap : g_heaps) = heap->next_heap;
  if (heap->next_heap != nullptr) heap->next_heap->previous_heap = heap->previous_heap;
}

// This thread's mutator of that heap, if it runs.
static Mutator* RunningHere(HeapCore* heap) {
  Mutator* mutator = t_window.mutator;
  return mutator != nullptr && mutator->heap == heap && !mutator->native ? mutator : nullptr;
}

void HeapCore::BeforeFork() {
  while (!world.Stop(RunningHere(this) != nullptr)) {
  }
}

void HeapCore::AfterForkInParent() {
  Mutator* mutator = RunningHere(this);
  world.Resume(mutator != nullptr);
  if (mutator != nullptr) mutator->PublishLimit();
}

// The other threads are gone.  What only they reached is garbage, but their nurseries may
// hold what others reach: a collection empties all of them first, without their roots.
void HeapCore::AfterForkInChild() {
  Mutator* own =
      t_window.mutator != nullptr && t_window.mutator->heap == this ? t_window.mutator : nullptr;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    if (m == own) continue;
    m->window->root_top = m->roots;
    m->clock.Abandon();
    m->ranges.clear();
  }
  RunCollection(CollectionKind::kMinor);
  Mutator* dead = world.first();
  const bool runs = RunningHere(this) != nullptr;
  world.ResetAfterFork(own, runs);
  while (dead != nullptr) {
    Mutator* next = dead->next;
    if (dead != own) {
      departed_words += dead->allocated_words;
      delete dead;
    }
    dead = next;
  }
  if (runs) own->PublishLimit();
}

}  // namespace allomon::gc::internal
