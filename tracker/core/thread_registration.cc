#include "tracker/core/thread_registration.h"

#include <pthread.h>

#include "tracker/core/callback_scope.h"
#include "tracker/core/entry_table.h"
#include "tracker/core/registry.h"

namespace allomon::internal {

std::atomic<void (*)()> recorder_exit_hook{nullptr};
std::atomic<void (*)()> thread_exit_hook{nullptr};

namespace {

pthread_key_t g_exit_key;
std::atomic<bool> g_exit_key_made{false};

void LeaveRegistry(ThreadState& thread) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  Registry::Get().RemoveLocked(thread);
  thread.countdown = nullptr;
  Entries().Empty(thread.free_entries);
}

// A callback may end its thread here as well; then this is called once more for the rest.
void RunLastPostponed(ThreadState& thread) {
  if (!thread.HasPostponed()) return;
  pthread_setspecific(g_exit_key, &thread);
  CallbackScope scope(thread);
  scope.Finish();
}

// The thread leaves the registry at the first call.  A thread that first allocates in the
// destructor of another key may get no second call; `start` would then write to a thread that stays
// in the registry after its memory is reused.  Allocations in destructors that run after ours are
// still sampled, but a `start` at that time does not reach them.
void OnThreadExit(void* value) {
  ThreadState& thread = *static_cast<ThreadState*>(value);
  if (thread.in_registry()) LeaveRegistry(thread);
  if (void (*hook)() = recorder_exit_hook.load(std::memory_order_acquire)) hook();
  if (void (*hook)() = thread_exit_hook.load(std::memory_order_acquire)) hook();
  RunLastPostponed(thread);
}

void MakeExitKeyLocked() {
  if (g_exit_key_made.load(std::memory_order_relaxed)) return;
  if (pthread_key_create(&g_exit_key, OnThreadExit) == 0) g_exit_key_made.store(true);
}

}  // namespace

void RegisterThreadSlow(ThreadState& thread) {
  ALLOMON_DCHECK("inv.busy", thread.busy);
  {
    const TickSafeLockHolder hold(Registry::Get().lock());
    MakeExitKeyLocked();
    thread.countdown = &countdown_words;
    Registry::Get().AddLocked(thread);
  }
  thread.registered = true;
  // A thread must not stay in the registry if its exit is not noticed.
  if (!g_exit_key_made.load() || pthread_setspecific(g_exit_key, &thread) != 0) {
    LeaveRegistry(thread);
  }
}

void RefreshThreadSlow(ThreadState& thread) {
  ALLOMON_DCHECK("inv.busy", thread.busy);
  Registry& registry = Registry::Get();
  const TickSafeLockHolder hold(registry.lock());
  thread.active = registry.active_locked();
  thread.bits.Seed(thread.active.seed, registry.NextStreamLocked());
  // Set under the lock, so that WakeThreadsLocked() cannot zero a countdown that already belongs to
  // the new epoch.  (thread.active.epoch would not do: it is 0 until the first start of the
  // process.)
  thread.epoch_seen.store(registry.epoch(), std::memory_order_relaxed);
}

}  // namespace allomon::internal
