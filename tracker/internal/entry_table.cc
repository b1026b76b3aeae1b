#include "tracker/internal/entry_table.h"

namespace allomon::internal {
namespace {

constexpr uint64_t kTagStep = uint64_t{1} << 32;

EntryId IdOf(uint64_t head) { return static_cast<EntryId>(head); }

uint64_t NextHead(uint64_t head, EntryId id) {
  return ((head & ~(kTagStep - 1)) + kTagStep) | id;
}

}  // namespace

EntryState Entry::TakeLive(SessionId session) {
  uint64_t word = life.load(std::memory_order_acquire);
  EntryLife was = EntryLife::Unpack(word);
  while (was.live() && was.session == session) {
    const EntryLife running{session, EntryState::kRunning};
    if (life.compare_exchange_weak(word, running.Pack(), std::memory_order_acquire)) {
      return was.state;
    }
    was = EntryLife::Unpack(word);
  }
  return EntryState::kForgotten;
}

EntryId EntryTable::PopFree() {
  uint64_t head = free_.load(std::memory_order_acquire);
  while (IdOf(head) != 0) {
    const EntryId next = At(IdOf(head)).next.load(std::memory_order_relaxed);
    // Acquire pairs with the release in Release(): the previous owner is done with it.
    if (free_.compare_exchange_weak(head, NextHead(head, next), std::memory_order_acquire)) {
      return IdOf(head);
    }
  }
  return 0;
}

EntryId EntryTable::AllocateFreshSlow() {
  EntryId id = next_id_.load(std::memory_order_relaxed);
  do {
    if (!entries_.Reserve(id)) return 0;
  } while (!next_id_.compare_exchange_weak(id, id + 1, std::memory_order_acq_rel));
  return id;
}

EntryId EntryTable::Allocate() {
  EntryId id = PopFree();
  if (id == 0) id = AllocateFreshSlow();
  if (id != 0) live_.fetch_add(1, std::memory_order_relaxed);
  return id;
}

void EntryTable::Release(EntryId id) {
  Entry& entry = At(id);
  entry.SetLife({});
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    entry.next.store(IdOf(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, NextHead(head, id), std::memory_order_release,
                                        std::memory_order_relaxed));
  live_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace allomon::internal
