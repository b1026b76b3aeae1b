#include "tracker/core/session_counters.h"

#include <initializer_list>

namespace allomon::internal {

void SessionCounters::Reset() {
  for (std::atomic<uint64_t>* counter :
       {&samples, &reported_blocks, &cut_callstacks, &dropped_blocks, &dropped_bytes}) {
    counter->store(0, std::memory_order_relaxed);
  }
}

void SessionCounters::AddReport(uint64_t n_samples, bool cut) {
  samples.fetch_add(n_samples, std::memory_order_relaxed);
  reported_blocks.fetch_add(1, std::memory_order_relaxed);
  if (cut) cut_callstacks.fetch_add(1, std::memory_order_relaxed);
}

SessionTotals SessionCounters::Load() const {
  SessionTotals totals;
  totals.samples = samples.load(std::memory_order_relaxed);
  totals.reported_blocks = reported_blocks.load(std::memory_order_relaxed);
  totals.cut_callstacks = cut_callstacks.load(std::memory_order_relaxed);
  totals.dropped_blocks = dropped_blocks.load(std::memory_order_relaxed);
  totals.dropped_bytes = dropped_bytes.load(std::memory_order_relaxed);
  return totals;
}

void ThreadCounters::BeginSlow(SessionId id) {
  // A reader of the new session gets zeros.  There can be no reader of the old one
  // (inv.counters.place).
  samples.store(0, std::memory_order_relaxed);
  reported_blocks.store(0, std::memory_order_relaxed);
  cut_callstacks.store(0, std::memory_order_relaxed);
  session.store(id, std::memory_order_release);
}

void ThreadCounters::AddTo(SessionId id, SessionTotals* totals) const {
  // Acquire pairs with the release in BeginSlow().
  if (session.load(std::memory_order_acquire) != id) return;
  totals->samples += samples.load(std::memory_order_relaxed);
  totals->reported_blocks += reported_blocks.load(std::memory_order_relaxed);
  totals->cut_callstacks += cut_callstacks.load(std::memory_order_relaxed);
}

void ThreadCounters::FoldInto(SessionId id, SessionCounters* counters) {
  SessionTotals own;
  AddTo(id, &own);
  counters->samples.fetch_add(own.samples, std::memory_order_relaxed);
  counters->reported_blocks.fetch_add(own.reported_blocks, std::memory_order_relaxed);
  counters->cut_callstacks.fetch_add(own.cut_callstacks, std::memory_order_relaxed);
  session.store(0, std::memory_order_relaxed);
}

}  // namespace allomon::internal
