#include "tracker/core/address_index.h"

#include "tracker/base/own_memory.h"

namespace allomon::internal {
namespace {

SpinLock g_list_lock;
AddressIndex* g_list ALLOMON_GUARDED_BY(g_list_lock) = nullptr;

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
  const SpinLockHolder hold(lock_);
  if (buckets_ != nullptr) OwnMemory::Unmap(buckets_, bucket_count_ * sizeof(Bucket));
}

// Takes all locks in the list, which the analysis cannot know.
void AddressIndex::LockAllAroundFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  g_list_lock.LockAroundFork();
  for (AddressIndex* index = g_list; index != nullptr; index = index->next_) {
    index->lock_.LockAroundFork();
  }
}

void AddressIndex::UnlockAllAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  for (AddressIndex* index = g_list; index != nullptr; index = index->next_) {
    index->lock_.UnlockAfterFork();
  }
  g_list_lock.UnlockAfterFork();
}

AddressIndex::Bucket* AddressIndex::FindLocked(uintptr_t block) const {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  if (bucket_count_ == 0) return nullptr;
  const size_t mask = bucket_count_ - 1;
  size_t i = FirstProbe(block);
  // The search ends, since at most half of the buckets were ever used.
  const size_t first = i;
  while (buckets_[i & mask].block != 0 && buckets_[i & mask].block != block) ++i;
  probes_ += i - first + 1;
  Bucket* bucket = &buckets_[i & mask];
  return bucket->block == block ? bucket : nullptr;
}

void AddressIndex::PutLocked(uintptr_t block, Handle handle) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  const size_t mask = bucket_count_ - 1;
  size_t i = FirstProbe(block);
  const size_t first = i;
  while (buckets_[i & mask].block != 0) ++i;
  probes_ += i - first + 1;
  buckets_[i & mask] = {block, handle};
  ++used_;
  ++live_;
}

// Rebuilds the table without tombstones.  A table that is mostly tombstones keeps its size.
bool AddressIndex::GrowLocked() {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  size_t count = bucket_count_ == 0 ? kFirstBuckets : bucket_count_;
  while ((live_ + reserved_ + 1) * 4 > count) count *= 2;
  Bucket* grown = static_cast<Bucket*>(OwnMemory::Map(count * sizeof(Bucket)));
  if (grown == nullptr) return false;
  Bucket* old = buckets_;
  const size_t old_count = bucket_count_;
  buckets_ = grown;
  bucket_count_ = count;
  used_ = 0;
  live_ = 0;
  for (size_t i = 0; i < old_count; ++i) {
    if (old[i].block > kTombstone) PutLocked(old[i].block, old[i].handle);
  }
  if (old != nullptr) OwnMemory::Unmap(old, old_count * sizeof(Bucket));
  return true;
}

bool AddressIndex::Reserve() {
  const SpinLockHolder hold(lock_);
  if ((used_ + reserved_ + 1) * 2 > bucket_count_ && !GrowLocked()) return false;
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
  // The thread that frees the block has got it from this thread, so it sees the count.
  counts_[HashOf(block)].fetch_add(1, std::memory_order_relaxed);
}

AddressIndex::Handle AddressIndex::EraseLocked(Bucket* bucket) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  counts_[HashOf(reinterpret_cast<const void*>(bucket->block))].fetch_sub(
      1, std::memory_order_relaxed);
  bucket->block = kTombstone;
  --live_;
  return bucket->handle;
}

AddressIndex::Handle AddressIndex::Take(const void* block) {
  const SpinLockHolder hold(lock_);
  Bucket* bucket = FindLocked(reinterpret_cast<uintptr_t>(block));
  return bucket == nullptr ? 0 : EraseLocked(bucket);
}

// Goes on where the last call stopped, so that taking all blocks costs one pass.
AddressIndex::Handle AddressIndex::TakeAny() {
  const SpinLockHolder hold(lock_);
  for (size_t seen = 0; live_ > 0 && seen < bucket_count_; ++seen) {
    Bucket* bucket = &buckets_[cursor_++ & (bucket_count_ - 1)];
    if (bucket->block > kTombstone) return EraseLocked(bucket);
  }
  return 0;
}

}  // namespace allomon::internal
