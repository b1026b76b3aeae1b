#include "tracker/core/fork.h"

#include <pthread.h>

#include <atomic>

#include "tracker/base/default_float.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/thread_id.h"
#include "tracker/core/address_index.h"
#include "tracker/core/busy_mark.h"
#include "tracker/core/label_sets.h"
#include "tracker/core/registry.h"
#include "tracker/core/session.h"
#include "tracker/core/stack_table.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

std::atomic<uint64_t> times_forked{0};
std::atomic<uint64_t> fork_stream{0};

namespace {

std::atomic<const OuterForkHandlers*> g_outer_fork_handlers{nullptr};

// Initialised at compile time, since heaps fill it in before main.
std::atomic<SpinLock*> g_heap_locks[kMostForkLocks] = {};

// The handlers that were called before this fork; new ones may be set meanwhile.  Guarded by the
// locks that are held around the fork.
const OuterForkHandlers* g_outer_of_this_fork = nullptr;

// Written by the only thread of a child, as times_forked is.
std::atomic<uint32_t> g_child_id{0};

// The thread safety analysis cannot follow locks taken through a visitor, so it is off for the
// functions below.
//
// None of these locks is ever taken while another is held, so any order will do.
template <typename Visit>
void ForEachLock(Visit visit) {
  visit(Registry::Get().lock());
  visit(Stacks().lock());
  visit(label_sets.lock());
  for (const std::atomic<SpinLock*>& place : g_heap_locks) {
    if (SpinLock* lock = place.load(std::memory_order_acquire)) visit(*lock);
  }
}

void UnlockAllAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  AddressIndex::UnlockAllAfterFork();
  ForEachLock([](auto& lock) ALLOMON_NO_THREAD_SAFETY_ANALYSIS { lock.UnlockAfterFork(); });
}

}  // namespace

void InstallForkHandlers() {
  static const int installed = pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  static_cast<void>(installed);
}

void SetOuterForkHandlers(const OuterForkHandlers* handlers) {
  InstallForkHandlers();
  g_outer_fork_handlers.store(handlers, std::memory_order_release);
}

void HoldAroundFork(SpinLock* lock) {
  for (std::atomic<SpinLock*>& place : g_heap_locks) {
    SpinLock* empty = nullptr;
    if (place.compare_exchange_strong(empty, lock, std::memory_order_acq_rel)) return;
  }
}

uint32_t OwnProcessIdAfterFork() {
  const uint32_t noted = g_child_id.load(std::memory_order_relaxed);
  return noted != 0 ? noted : OwnThreadId();
}

void BeforeFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  const OuterForkHandlers* outer = g_outer_fork_handlers.load(std::memory_order_acquire);
  if (outer != nullptr) outer->before();
  ForEachLock([](auto& lock) ALLOMON_NO_THREAD_SAFETY_ANALYSIS { lock.LockAroundFork(); });
  AddressIndex::LockAllAroundFork();
  Registry::Get().CountForkLocked();
  g_outer_of_this_fork = outer;
}

void AfterForkInParent() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  const OuterForkHandlers* const outer = g_outer_of_this_fork;
  UnlockAllAfterFork();
  if (outer != nullptr) outer->after_in_parent();
}

void AfterForkInChild() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  const DefaultFloat our_float;
  {
    // The locks are open for this thread, and so for its signal handlers as well.
    const BusyMark busy;
    times_forked.fetch_add(1, std::memory_order_relaxed);
    g_child_id.store(OwnThreadId(), std::memory_order_relaxed);
    later_pages_are_locked.store(false, std::memory_order_relaxed);
    ThreadState& thread = CurrentThread();
    Session::AbandonPinsOfOthersLocked(thread);
    Registry::Get().KeepOnlyLocked(thread);
    Session::FinishAbandonedLocked();
    fork_stream.store(Registry::Get().DivergeFromParentLocked(thread), std::memory_order_relaxed);
  }
  const OuterForkHandlers* const outer = g_outer_of_this_fork;
  UnlockAllAfterFork();
  if (outer != nullptr) outer->after_in_child();
}

}  // namespace allomon::internal
