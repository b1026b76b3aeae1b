#include "tracker/core/address_index.h"

#include "tracker/base/own_memory.h"

namespace allomon::internal {
namespace {

SpinLock g_list_lock;
AddressIndex* g_list = nullptr;  // under its lock

}  // namespace

AddressIndex::AddressIndex() {
  const SpinLockHolder hold(g_list_lock);
  next_ = g_list;
  if (next_ != nullptr) next_->previous_ = this;
  g_list = this;
}

AddressIndex::~AddressIndex() {
  {
    const SpinLockHolder hold(g_list_lock);
    (previous_ != nullptr ? previous_->next_ : g_list) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  if (slots_ != nullptr) OwnMemory::Unmap(slots_, slot_count_ * sizeof(Slot));
}

void AddressIndex::LockAllAroundFork() {
  g_list_lock.LockAroundFork();
  for (AddressIndex* index = g_list; index != nullptr; index = index->next_) {
    index->lock_.LockAroundFork();
  }
}

void AddressIndex::UnlockAllAfterFork() {
  for (AddressIndex* index = g_list; index != nullptr; index = index->next_) {
    index->lock_.UnlockAfterFork();
  }
  g_list_lock.UnlockAfterFork();
}

AddressIndex::Slot* AddressIndex::FindLocked(uintptr_t block) const {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  if (slot_count_ == 0) return nullptr;
  const size_t mask = slot_count_ - 1;
  size_t i = FirstProbe(block);
  // Ends: at most half of the slots were ever used.
  const size_t first = i;
  while (slots_[i & mask].block != 0 && slots_[i & mask].block != block) ++i;
  probes_ += i - first + 1;
  Slot* slot = &slots_[i & mask];
  return slot->block == block ? slot : nullptr;
}

void AddressIndex::PutLocked(uintptr_t block, Handle handle) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  const size_t mask = slot_count_ - 1;
  size_t i = FirstProbe(block);
  const size_t first = i;
  while (slots_[i & mask].block != 0) ++i;
  probes_ += i - first + 1;
  slots_[i & mask] = {block, handle};
  ++used_;
  ++live_;
}

// Leaves tombstones behind, so a table that is full of them is rebuilt at its old size.
bool AddressIndex::GrowLocked() {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  size_t count = slot_count_ == 0 ? kFirstSlots : slot_count_;
  while ((live_ + reserved_ + 1) * 4 > count) count *= 2;
  Slot* grown = static_cast<Slot*>(OwnMemory::Map(count * sizeof(Slot)));
  if (grown == nullptr) return false;
  Slot* old = slots_;
  const size_t old_count = slot_count_;
  slots_ = grown;
  slot_count_ = count;
  used_ = 0;
  live_ = 0;
  for (size_t i = 0; i < old_count; ++i) {
    if (old[i].block > kTombstone) PutLocked(old[i].block, old[i].handle);
  }
  if (old != nullptr) OwnMemory::Unmap(old, old_count * sizeof(Slot));
  return true;
}

bool AddressIndex::Reserve() {
  const SpinLockHolder hold(lock_);
  if ((used_ + reserved_ + 1) * 2 > slot_count_ && !GrowLocked()) return false;
  ++reserved_;
  return true;
}

void AddressIndex::Cancel() {
  const SpinLockHolder hold(lock_);
  --reserved_;
}

void AddressIndex::Insert(const void* block, Handle handle) {
  const SpinLockHolder hold(lock_);
  --reserved_;
  PutLocked(reinterpret_cast<uintptr_t>(block), handle);
  // The thread that frees the block has it from this one, so it sees the count.
  counts_[HashOf(block)].fetch_add(1, std::memory_order_relaxed);
}

AddressIndex::Handle AddressIndex::EraseLocked(Slot* slot) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  counts_[HashOf(reinterpret_cast<const void*>(slot->block))].fetch_sub(1,
                                                                        std::memory_order_relaxed);
  slot->block = kTombstone;
  --live_;
  return slot->handle;
}

AddressIndex::Handle AddressIndex::Take(const void* block) {
  const SpinLockHolder hold(lock_);
  Slot* slot = FindLocked(reinterpret_cast<uintptr_t>(block));
  return slot == nullptr ? 0 : EraseLocked(slot);
}

// Goes on where the last call stopped, so that taking all costs one pass.
AddressIndex::Handle AddressIndex::TakeAny() {
  const SpinLockHolder hold(lock_);
  for (size_t seen = 0; live_ > 0 && seen < slot_count_; ++seen) {
    Slot* slot = &slots_[cursor_++ & (slot_count_ - 1)];
    if (slot->block > kTombstone) return EraseLocked(slot);
  }
  return 0;
}

}  // namespace allomon::internal
