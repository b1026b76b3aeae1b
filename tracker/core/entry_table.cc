#include "tracker/core/entry_table.h"

namespace allomon::internal {

EntryTable entry_table;
namespace {

constexpr uint64_t kTagStep = uint64_t{1} << 32;

EntryId IdOf(uint64_t head) { return static_cast<EntryId>(head); }

uint64_t NextHead(uint64_t head, EntryId id) { return ((head & ~(kTagStep - 1)) + kTagStep) | id; }

}  // namespace

bool Entry::Abandon() {
  uint64_t word = life.load(std::memory_order_acquire);
  EntryLife was = EntryLife::Unpack(word);
  while (was.state == EntryState::kRunning) {
    const EntryLife abandoned{was.session, EntryState::kAbandoned, was.use};
    if (life.compare_exchange_weak(word, abandoned.Pack(), std::memory_order_acq_rel)) return true;
    was = EntryLife::Unpack(word);
  }
  return false;
}

bool Entry::FinishForgetting() {
  uint64_t word = life.load(std::memory_order_relaxed);
  EntryLife forgotten = EntryLife::Unpack(word);
  ALLOMON_DCHECK("inv.entry.owner", forgotten.state == EntryState::kRunning ||
                                        forgotten.state == EntryState::kAbandoned);
  // Only Abandon() can have changed the state since the value was taken.
  if (forgotten.state == EntryState::kAbandoned) return true;
  forgotten.state = EntryState::kForgotten;
  // Release pairs with the acquire in Abandon(): the owner who then releases the entry
  // does so behind the destruction of its value.
  return !life.compare_exchange_strong(word, forgotten.Pack(), std::memory_order_acq_rel);
}

EntryId EntryTable::PopFree() {
  uint64_t head = free_.load(std::memory_order_acquire);
  while (IdOf(head) != 0) {
    const EntryId next = At(IdOf(head)).next.load(std::memory_order_relaxed);
    // Acquire pairs with the release in PushFree(): the previous owner is done with it.
    if (free_.compare_exchange_weak(head, NextHead(head, next), std::memory_order_acquire)) {
      return IdOf(head);
    }
  }
  return 0;
}

EntryId EntryTable::AllocateFresh(uint32_t count) {
  EntryId id = next_id_.load(std::memory_order_relaxed);
  do {
    if (!entries_.Reserve(id) || !entries_.Reserve(id + count - 1)) return 0;
  } while (!next_id_.compare_exchange_weak(id, id + count, std::memory_order_acq_rel));
  return id;
}

EntryId EntryTable::Allocate() {
  const EntryId id = PopFree();
  return id != 0 ? id : AllocateFresh(1);
}

// Fresh ones by the dozen, so that threads do not write to the same cache lines.
EntryId EntryTable::AllocateSlow(EntryCache& cache) {
  constexpr uint32_t kAtOnce = 16;
  const EntryId id = PopFree();
  if (id != 0) return id;
  const EntryId fresh = AllocateFresh(kAtOnce);
  if (fresh == 0) return AllocateFresh(1);
  for (uint32_t i = kAtOnce - 1; i > 0; --i) Release(fresh + i, cache);
  return fresh;
}

void EntryTable::Release(EntryId id) {
  At(id).SetState(EntryState::kFree);
  PushFree(id);
}

void EntryTable::PushFree(EntryId id) {
  Entry& entry = At(id);
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    entry.next.store(IdOf(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, NextHead(head, id), std::memory_order_release,
                                        std::memory_order_relaxed));
}

void EntryTable::Empty(EntryCache& cache) {
  while (cache.first != 0) {
    const EntryId id = cache.first;
    cache.first = At(id).next.load(std::memory_order_relaxed);
    PushFree(id);
  }
  cache.count = 0;
}

}  // namespace allomon::internal
