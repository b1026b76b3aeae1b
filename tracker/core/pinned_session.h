// Keeps a session's client alive for the length of a callback.  See "Sessions" in
// tracker/README.md.
//
// A pin is a store into one of the thread's own words, where the thread that retires the session
// searches for it.  So the many threads that pin execute no locked instruction.  The thread that
// retires pays with a barrier on all threads.
//
//   pin     word = session; light barrier; is it open?      retire  close; heavy barrier;
//   let go  word = none;    light barrier; is it retiring?          look at all pins
//
// inv.pin.seen and inv.pin.last state why that is enough ("Sessions" in tracker/README.md).  The
// heavy barrier has been executed when Session::settled_ is set.
//
// A thread that is not in the registry, or whose pins are all in use (user code that drains inside
// a callback that drains ...), counts its pin in the session instead.
#ifndef ALLOMON_TRACKER_CORE_PINNED_SESSION_H_
#define ALLOMON_TRACKER_CORE_PINNED_SESSION_H_

#include "tracker/core/barrier.h"
#include "tracker/core/session.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

// Holds a session for the length of a scope, even if a callback ends its thread and the stack
// unwinds.  False if the session is gone; all its values are then destroyed as well.  A pinned
// session may be discarded at any time.  A thread that consumes a value checks status() to decide
// whether to call the user.
//
// Scopes of a thread nest (inv.pin.lifo).  Cost: two stores, four loads.  Inlined into unwinding
// code as well, because an object passed to a destructor out of line would have to be in memory
// throughout.
class PinnedSession {
 public:
  __attribute__((always_inline)) explicit PinnedSession(SessionId id) : thread_(CurrentThread()) {
    Session& session = Session::AtPlaceOf(id);
    if (__builtin_expect(thread_.HasFreePin(), 1)) {
      pin_ = &thread_.pins[thread_.pins_used++];
      pin_->store(&session, std::memory_order_relaxed);
    } else {
      session.PinCounted();
      ++thread_.counted_pins;
    }
    LightBarrier();
    // The place may now be free, or belong to a later session.
    if (__builtin_expect(session.IsOpenFor(id), 1)) {
      session_ = &session;
    } else {
      LetGo(session);
    }
  }
  // Pins a session by an id that a caller gave: also false if the session is of another kind.
  PinnedSession(SessionId id, SessionKind kind) : PinnedSession(id) {
    if (session_ == nullptr || session_->kind() == kind) return;
    Session& other = *session_;
    session_ = nullptr;
    LetGo(other);
  }
  __attribute__((always_inline)) ~PinnedSession() {
    if (session_ != nullptr) LetGo(*session_);
  }
  PinnedSession(const PinnedSession&) = delete;
  PinnedSession& operator=(const PinnedSession&) = delete;

  explicit operator bool() const { return session_ != nullptr; }
  Session& operator*() const { return *session_; }
  Session* operator->() const { return session_; }

 private:
  __attribute__((always_inline)) void LetGo(Session& session) {
    if (__builtin_expect(pin_ != nullptr, 1)) {
      ALLOMON_DCHECK_EQ("inv.pin.lifo", pin_, &thread_.pins[thread_.pins_used - 1]);
      // Release: a thread that then finds no pin sees all that the callback did to the client.
      pin_->store(nullptr, std::memory_order_release);
      --thread_.pins_used;
    } else {
      ALLOMON_DCHECK_NE("inv.pin.lifo", thread_.counted_pins, 0u);
      --thread_.counted_pins;
      session.UnpinCounted();
    }
    LightBarrier();
    if (__builtin_expect(session.retiring(), 0)) session.FinishIfUnpinnedSlow();
  }

  ThreadState& thread_;
  std::atomic<Session*>* pin_ = nullptr;  // none: the pin is counted
  Session* session_ = nullptr;
};

// A pinned session's client in its own type.  All sessions of one kind have clients of one type.
// No other code casts a client (inv.session.kind).
template <typename Client, SessionKind kKind>
class PinnedClient {
 public:
  explicit PinnedClient(SessionId id) : session_(id, kKind) {}

  explicit operator bool() const { return static_cast<bool>(session_); }
  Client* operator->() const {
    ALLOMON_DCHECK("inv.session.kind", session_->kind() == kKind);
    return &static_cast<Client&>(session_->client());
  }

 private:
  const PinnedSession session_;
};

// One block reported to a session that the calling thread has pinned.
inline void CountReport(ThreadState& thread, Session& session, uint64_t n_samples, bool cut) {
  ALLOMON_DCHECK_EQ("inv.counters.own", &thread, &CurrentThread());
  if (__builtin_expect(thread.in_registry(), 1)) {
    ThreadCounters& counters = thread.counters[PlaceOfSession(session.id())];
    ALLOMON_DCHECK("inv.counters.place", counters.MayCountFor(session.id()));
    counters.AddReport(session.id(), n_samples, cut);
  } else {
    session.counters().AddReport(n_samples, cut);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_PINNED_SESSION_H_
