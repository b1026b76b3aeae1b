#include "tracker/core/session.h"

#include "tracker/core/entry_table.h"
#include "tracker/core/registry.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {
namespace {

SessionId g_next_id ALLOMON_GUARDED_BY(Registry::Get().lock()) = 1;

[[maybe_unused]] bool HasValueForCheck(SessionId session) {
  const EntryId end = Entries().end();
  for (EntryId id = 1; id < end; ++id) {
    const EntryLife life = Entries().At(id).Life();
    if (life.session == session && life.live()) return true;
  }
  return false;
}

}  // namespace

Session Session::places[kMaxSessions];

void Session::SetStatusLocked(SessionStatus to) {
  ALLOMON_DCHECK("inv.lock.held", Registry::Get().lock().IsHeldForCheck());
  ALLOMON_DCHECK("inv.session.status", MayBecome(status(), to));
  status_.store(to, std::memory_order_release);
}

Session* Session::ClaimLocked(const Config& config, SessionClient* client) {
  for (uint32_t tries = 0; tries < kMaxSessions; ++tries) {
    const SessionId id = g_next_id++;
    Session& session = AtPlaceOf(id);
    if (id == 0 || session.occupied_) continue;  // 0 is that of an empty TrackerId
    session.occupied_ = true;
    session.client_is_abandoned_ = false;
    session.id_ = id;
    session.config_ = config;
    session.client_ = client;
    session.counters_.Reset();
    session.SetStatusLocked(SessionStatus::kSampling);
    // Release pairs with the acquire in IsOpenFor().
    session.open_id_.store(id, std::memory_order_release);
    return &session;
  }
  return nullptr;
}

void Session::Retire() {
  retiring_.store(true, std::memory_order_relaxed);
  open_id_.store(kClosed, std::memory_order_relaxed);
  // From here on all pins are visible, and a thread that releases its pin sees retiring().  A
  // thread that saw it before the barrier must not search the pins yet.  It need not, since this
  // thread does.
  HeavyBarrier();
  {
    const TickSafeLockHolder hold(Registry::Get().lock());
    settled_ = true;
  }
  FinishIfUnpinnedSlow();
}

void Session::FinishIfUnpinnedSlow() {
  SessionClient* client = nullptr;
  {
    const TickSafeLockHolder hold(Registry::Get().lock());
    if (!settled_ || IsPinnedLocked()) return;
    ALLOMON_DCHECK("inv.pin.last", retiring());
    ALLOMON_DCHECK("inv.session.values", client_is_abandoned_ || !HasValueForCheck(id_));
    if (!client_is_abandoned_) client = client_;
    SetFreeLocked();
  }
  delete client;  // user code: outside the lock
}

void Session::SetFreeLocked() {
  ALLOMON_DCHECK("inv.lock.held", Registry::Get().lock().IsHeldForCheck());
  retiring_.store(false, std::memory_order_relaxed);
  settled_ = false;
  occupied_ = false;
}

// Acquire, here and in HasPinned(), pairs with the release of the thread that removed its pin.
bool Session::IsPinnedLocked() const {
  ALLOMON_DCHECK("inv.lock.held", Registry::Get().lock().IsHeldForCheck());
  ALLOMON_DCHECK_EQ("inv.pin.seen", open_id_.load(std::memory_order_relaxed), kClosed);
  return counted_pins_.load(std::memory_order_acquire) != 0 ||
         Registry::Get().AnyThreadLocked(
             [this](const ThreadState& thread) { return thread.HasPinned(*this); });
}

// A counted pin may be any thread's.
bool Session::IsClientKeptForCheck() const {
  if (CurrentThread().HasPinned(*this)) return true;
  if (counted_pins_.load(std::memory_order_relaxed) != 0) return true;
  return status() == SessionStatus::kDiscarded && IsOpenFor(id_);
}

// The callback of a thread that is gone cannot be finished.  So its client is never touched again,
// not even by its destructor.  Counted pins of the survivor cannot be told from those of other
// threads: if it has any, the session keeps its place for ever.
void Session::AbandonPinsOfOthersLocked(const ThreadState& survivor) {
  for (Session& session : places) {
    session.client_is_abandoned_ |= Registry::Get().AnyThreadLocked([&](const ThreadState& thread) {
      return &thread != &survivor && thread.HasPinned(session);
    });
    if (survivor.counted_pins != 0) continue;
    session.client_is_abandoned_ |= session.counted_pins_.load(std::memory_order_relaxed) != 0;
    session.counted_pins_.store(0, std::memory_order_relaxed);
  }
}

// Runs no user code, which has no place in a fork handler: the clients are not deleted.  There is
// no other thread, so every pin is visible without a barrier.
void Session::FinishAbandonedLocked() {
  for (Session& session : places) {
    session.settled_ = session.retiring();
    if (session.settled_ && !session.IsPinnedLocked()) session.SetFreeLocked();
  }
}

}  // namespace allomon::internal
