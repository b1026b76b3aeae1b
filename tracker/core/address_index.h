// Maps the address of a sampled block to its handle, for heaps that cannot place sampled blocks
// where they recognise them.
//
// Thread safe; each index has a lock.  MayContain() filters the many blocks that are not in the
// index: it loads from an array of counts by a hash of the address, and is wrongly true for about
// one in (live samples / 4096) blocks.  The memory is mapped, and unmapped at the end.
#ifndef ALLOMON_TRACKER_CORE_ADDRESS_INDEX_H_
#define ALLOMON_TRACKER_CORE_ADDRESS_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/spin_lock.h"

namespace allomon::internal {

class AddressIndex {
 public:
  using Handle = uint32_t;

  AddressIndex();
  ~AddressIndex();
  AddressIndex(const AddressIndex&) = delete;
  AddressIndex& operator=(const AddressIndex&) = delete;

  bool MayContain(const void* block) const {
    return counts_[HashOf(block)].load(std::memory_order_relaxed) != 0;
  }

  // Makes room for one more block; false if memory is short.  Insert() uses that room and cannot
  // fail.
  bool Reserve();
  void Cancel();  // gives one grant back
  void Insert(const void* block, Handle handle);

  Handle Take(const void* block);  // 0 if it is not there
  Handle TakeAny();                // 0 when empty

  // Around fork: hold the locks of all indexes, and keep other threads from making and destroying
  // one.
  static void LockAllAroundFork();
  static void UnlockAllAfterFork();

  // Buckets looked at so far.
  uint64_t ProbesForTesting() const {
    const SpinLockHolder hold(lock_);
    return probes_;
  }

 private:
  static constexpr size_t kCounts = 4096;
  static constexpr size_t kFirstBuckets = 256;
  struct Bucket {
    uintptr_t block;  // 0: never used; kTombstone: was removed
    Handle handle;
  };
  static constexpr uintptr_t kTombstone = 1;

  static uint64_t Mixed(uintptr_t block) { return block * 0x9e3779b97f4a7c15; }
  static size_t HashOf(const void* block) {
    return static_cast<size_t>(Mixed(reinterpret_cast<uintptr_t>(block)) >> 52);
  }
  // The bucket at which probing begins.  HashOf() would not do: its 4,096 values would crowd a
  // larger table.
  static size_t FirstProbe(uintptr_t block) { return static_cast<size_t>(Mixed(block) >> 28); }

  Bucket* FindLocked(uintptr_t block) const ALLOMON_REQUIRES(lock_);
  void PutLocked(uintptr_t block, Handle handle) ALLOMON_REQUIRES(lock_);
  bool GrowLocked() ALLOMON_REQUIRES(lock_);
  Handle EraseLocked(Bucket* bucket) ALLOMON_REQUIRES(lock_);

  std::atomic<uint32_t> counts_[kCounts] = {};
  mutable SpinLock lock_;
  // Open addressing.  At most half of the buckets were ever used.
  Bucket* buckets_ ALLOMON_GUARDED_BY(lock_) = nullptr;
  size_t bucket_count_ ALLOMON_GUARDED_BY(lock_) = 0;
  size_t used_ ALLOMON_GUARDED_BY(lock_) = 0;  // buckets that were ever used since the last growth
  size_t live_ ALLOMON_GUARDED_BY(lock_) = 0;
  size_t reserved_ ALLOMON_GUARDED_BY(lock_) = 0;  // granted and not yet inserted
  size_t cursor_ ALLOMON_GUARDED_BY(lock_) = 0;    // where TakeAny() continues
  mutable uint64_t probes_ ALLOMON_GUARDED_BY(lock_) = 0;

  // The list of all indexes, under a lock of its own.
  AddressIndex* previous_ = nullptr;
  AddressIndex* next_ = nullptr;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_ADDRESS_INDEX_H_
