#include "tracker/core/entry_table.h"

#include "tracker/base/large_object.h"

namespace allomon::internal {

ALLOMON_LARGE_DATA EntryTable entry_table;

// Release pairs with the acquire in FinishForgetting(): this owner is finished with the entry.
// Acquire pairs with the release there, for an owner that finds the value gone.
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
  // Acquire pairs with the release in Abandon(), also below: the owner is finished with the entry,
  // and with its link.
  uint64_t word = life.load(std::memory_order_acquire);
  EntryLife forgotten = EntryLife::Unpack(word);
  ALLOMON_DCHECK("inv.entry.owner", forgotten.state == EntryState::kRunning ||
                                        forgotten.state == EntryState::kAbandoned);
  // Only Abandon() can have changed the state since the value was taken.
  if (forgotten.state == EntryState::kAbandoned) return true;
  forgotten.state = EntryState::kForgotten;
  // Release pairs with the acquire in Abandon(): an owner that then releases the entry does so
  // after its value is destroyed.
  return !life.compare_exchange_strong(word, forgotten.Pack(), std::memory_order_acq_rel);
}

// Release pairs with the acquire in end(): the segments are mapped.
EntryId EntryTable::AllocateFresh(uint32_t count) {
  EntryId id = next_id_.load(std::memory_order_relaxed);
  do {
    if (!entries_.Reserve(id) || !entries_.Reserve(id + count - 1)) return 0;
  } while (!next_id_.compare_exchange_weak(id, id + count, std::memory_order_acq_rel));
  return id;
}

EntryId EntryTable::Allocate() {
  const EntryId id = free_.Pop(Links());
  return id != 0 ? id : AllocateFresh(1);
}

// Takes fresh entries by the dozen, so that threads do not write to the same cache lines.
EntryId EntryTable::AllocateSlow(EntryCache& cache) {
  constexpr uint32_t kAtOnce = 16;
  if (cache.in_use()) return Allocate();
  cache.Refill(Links(), 0, kCachedEntries / 2, free_);
  const EntryId id = cache.Pop(Links(), 0);
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

void EntryTable::PushFree(EntryId id) { free_.Push(Links(), id); }

// Out of line: Release() with a cache is inlined into the free of every sampled block.  A
// collection of a managed heap releases thousands at a time.
void EntryTable::ReleaseSlow(EntryId id, EntryCache& cache) {
  cache.Spill(Links(), 0, kCachedEntries / 2, free_);
  if (!cache.Push(Links(), 0, id)) PushFree(id);
}

void EntryTable::Empty(EntryCache& cache) { cache.Drain(Links(), 0, free_); }

}  // namespace allomon::internal
