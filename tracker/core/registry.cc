#include "tracker/core/registry.h"

#include "tracker/core/session.h"

namespace allomon::internal {

Registry Registry::the_registry;

void Registry::AddLocked(ThreadState& thread) {
  CheckHeld();
  thread.previous = nullptr;
  thread.next = threads_;
  if (threads_ != nullptr) threads_->previous = &thread;
  threads_ = &thread;
}

void Registry::RemoveLocked(ThreadState& thread) {
  CheckHeld();
  FoldCountersLocked(thread);
  (thread.previous != nullptr ? thread.previous->next : threads_) = thread.next;
  if (thread.next != nullptr) thread.next->previous = thread.previous;
}

void Registry::FoldCountersLocked(ThreadState& thread) {
  CheckHeld();
  for (ThreadCounters& counters : thread.counters) {
    const SessionId id = counters.session.load(std::memory_order_relaxed);
    if (Session* session = Session::Find(id)) counters.FoldInto(id, &session->counters());
  }
}

SessionTotals Registry::TotalsOf(Session& session) {
  const TickSafeLockHolder hold(lock_);
  SessionTotals totals = session.counters().Load();
  const SessionId id = session.id();
  for (const ThreadState* thread = threads_; thread != nullptr; thread = thread->next) {
    thread->counters[PlaceOfSession(id)].AddTo(id, &totals);
  }
  return totals;
}

// The memory of the other threads is still there: fork copies it, and only a later thread can reuse
// it.
void Registry::KeepOnlyLocked(ThreadState& survivor) {
  CheckHeld();
  for (ThreadState* thread = threads_; thread != nullptr; thread = thread->next) {
    if (thread != &survivor) FoldCountersLocked(*thread);
  }
  threads_ = nullptr;
  if (survivor.countdown != nullptr) AddLocked(survivor);
}

// An odd multiplier of 64 bits keeps the child's streams far from the parent's.  A new epoch
// begins: the survivor reseeds malloc's stream at its next allocation, and each managed sampler its
// own at its mutator's next call.
uint64_t Registry::DivergeFromParentLocked(ThreadState& survivor) {
  CheckHeld();
  next_stream_ = (next_stream_ + forks_) * 0xd1342543de82ef95;
  forks_ = 0;
  active_.epoch = epoch_.load(std::memory_order_relaxed) + 1;
  epoch_.store(active_.epoch, std::memory_order_relaxed);
  LowerLimitsLocked();
  survivor.epoch_seen.store(0, std::memory_order_relaxed);
  survivor.meter.ForgetSessions();
  if (!survivor.in_callback) {
    const int64_t left = countdown_words.exchange(0, std::memory_order_relaxed);
    if (left > 0) survivor.left_when_woken.store(left, std::memory_order_relaxed);
  }
  return next_stream_;
}

void Registry::AddLimitLocked(WakeLimit& limit) {
  CheckHeld();
  limit.previous = nullptr;
  limit.next = limits_;
  if (limits_ != nullptr) limits_->previous = &limit;
  limits_ = &limit;
}

void Registry::RemoveLimitLocked(WakeLimit& limit) {
  CheckHeld();
  (limit.previous != nullptr ? limit.previous->next : limits_) = limit.next;
  if (limit.next != nullptr) limit.next->previous = limit.previous;
}

void Registry::LowerLimitsLocked() {
  CheckHeld();
  for (WakeLimit* limit = limits_; limit != nullptr; limit = limit->next) {
    limit->words->store(0, std::memory_order_relaxed);
  }
}

void Registry::PublishLocked(const ActiveSet& set) {
  CheckHeld();
  RegisterForBarriersOnce();
  active_ = set;
  active_.epoch = epoch_.load(std::memory_order_relaxed) + 1;
  epoch_.store(active_.epoch, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  LowerLimitsLocked();
  WakeThreadsLocked();
}

// A wake-up is a zero stored into another thread's countdown.  That thread may be in the middle of
// its `sub`, or may just store a fresh number by SetCountdown(): then it overwrites our zero.
// After a barrier on all threads neither is in flight any more, so a number above zero proves a
// loss, and the zero is stored again.
void Registry::WakeThreadsLocked() {
  WakeOnceLocked();
  for (int round = 0; round < 1000; ++round) {
    BarrierOnAllThreads();
    if (!WakeOnceLocked()) return;
  }
}

// Returns true if any thread had to be woken (and so must be looked at again).
bool Registry::WakeOnceLocked() {
  CheckHeld();
  bool woke = false;
  for (ThreadState* thread = threads_; thread != nullptr; thread = thread->next) {
    if (thread->epoch_seen.load(std::memory_order_relaxed) == active_.epoch) continue;
    if (thread->countdown->load(std::memory_order_relaxed) <= 0) continue;
    const int64_t left = thread->countdown->exchange(0, std::memory_order_relaxed);
    // During a callback the countdown is kept elsewhere.
    if (left > 0 && left <= kNeverWords / 2) {
      thread->left_when_woken.store(left, std::memory_order_relaxed);
    }
    woke = true;
  }
  return woke;
}

}  // namespace allomon::internal
