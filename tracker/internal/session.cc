#include "tracker/internal/session.h"

namespace allomon::internal {
namespace {

Session g_sessions[Session::kMaxSessions];
SessionId g_next_id = 1;  // guarded by the registry lock

void ResetCounters(SessionCounters& counters) {
  counters.samples.store(0, std::memory_order_relaxed);
  counters.reported_blocks.store(0, std::memory_order_relaxed);
  counters.dropped_blocks.store(0, std::memory_order_relaxed);
  counters.dropped_bytes.store(0, std::memory_order_relaxed);
  counters.cut_callstacks.store(0, std::memory_order_relaxed);
}

// Ids say where their session is, so that looking one up is arithmetic; ids that would
// fall on an occupied session are passed over.
Session& SlotOf(SessionId id) { return g_sessions[id % Session::kMaxSessions]; }

}  // namespace

Session* Session::ClaimLocked(const Config& config, SessionClient* client) {
  for (uint32_t tries = 0; tries < kMaxSessions; ++tries) {
    const SessionId id = g_next_id++;
    if (id == 0) continue;
    Session& session = SlotOf(id);
    // Acquire pairs with Unpin(): the previous client is gone before we overwrite it.
    if (session.users_.load(std::memory_order_acquire) != 0) continue;
    session.config_ = config;
    session.client_ = client;
    ResetCounters(session.counters_);
    session.status_.store(SessionStatus::kSampling, std::memory_order_relaxed);
    session.id_.store(id, std::memory_order_relaxed);
    // Release pairs with the acquire in Pin(): all of the above is seen by who pins.
    session.users_.store(1, std::memory_order_release);
    return &session;
  }
  return nullptr;
}

Session* Session::Find(SessionId id) {
  Session& session = SlotOf(id);
  const bool in_use = session.users_.load(std::memory_order_acquire) != 0;
  return in_use && session.id() == id ? &session : nullptr;
}

Session* Session::Pin(SessionId id) {
  Session& session = SlotOf(id);
  uint32_t users = session.users_.load(std::memory_order_relaxed);
  do {
    if (users == 0) return nullptr;
  } while (!session.users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
  // The slot may by now belong to a later session, which we have just pinned by mistake.
  if (session.id() == id) return &session;
  session.Unpin();
  return nullptr;
}

void Session::Unpin() {
  // Read before the decrement: at 0 the session is free, and ClaimLocked() may already
  // be writing the next client.
  SessionClient* client = client_;
  // Acquire and release: the last one out has seen what every callback did to the client.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete client;
}

}  // namespace allomon::internal
