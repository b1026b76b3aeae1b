// Pages for single blocks, each between two pages that nobody may touch.  See "The guard" in
// allocator/README.md.
//
//   guard | slot 0 | guard | slot 1 | guard | ... | slot n-1 | guard
//
// A block lies at the one or the other end of its slot's page, by chance; what it leaves of
// the page holds a byte drawn for it, which is looked at when it is freed.  A free slot is
// inaccessible, so that what is freed faults when it is touched, until the slot is used again:
// at the earliest when half of all free slots have been.  Which of those that have waited so
// long is taken, is drawn.
//
// The pool is reserved once, at a random place, and stays.  Costs: 32 MiB of address space
// and 2.2 MiB of records, both untouched at first; 4 KiB per live block, 1,024 of which there
// are at most; two mappings per slot ever used, so 8,192 of the 65,530 that Linux grants a
// process.
//
// Thread safe but for Reserve().  May be called inside malloc and free.  Contains(), SlotAt()
// and the slots may also be read by signal handlers.
#ifndef ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_
#define ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/guard/guarded_slot.h"
#include "tracker/base/spin_lock.h"
#include "tracker/heap_client.h"
#include "tracker/heap_tools.h"

namespace allomon::internal {

class GuardedPool {
 public:
  static constexpr size_t kMaxSlots = 4096;
  static constexpr size_t kMinSlots = 64;
  // A fourth may be live: the others are what is known of blocks that are gone.
  static constexpr size_t kSlotsPerLive = 4;

  // Called once, by one thread.  False if there is no room for kMinSlots.  Slots and places are
  // drawn from `seed`, the addresses never.
  bool Reserve(uint64_t seed);

  bool Contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - base_.load(std::memory_order_acquire) <
           size_bytes_.load(std::memory_order_relaxed);
  }

  // A writable page with room for the block, in state kTaken; its handle, traces and note are
  // the caller's to set, and that it is live.  The block is zero-filled.  nullptr: it does not
  // fit a page, or too many are live, or the kernel refuses.
  // Cost: a system call and a page fault, about 2 us.
  GuardedSlot* Take(size_t size_bytes, size_t alignment_bytes);

  // From kTaken (then nobody has seen the block) or kEnding.  Cost: two system calls.
  void Return(GuardedSlot* slot);

  // Where the page was written outside of the block; 0 if it was not.  The page must be
  // accessible.  Cost: about 100 ns.
  uintptr_t FindOverwrite(const GuardedSlot& slot) const;

  // Of an address in the pool: the slot of its page; for a guard page, of the two beside it
  // the one whose block is nearest, and lives if only one does.  nullptr if there never was a
  // block.
  GuardedSlot* SlotAt(uintptr_t address) const;

  uintptr_t PageOf(const GuardedSlot& slot) const {
    return base_.load(std::memory_order_relaxed) +
           (2 * static_cast<size_t>(&slot - slots_) + 1) * page_bytes_;
  }
  size_t page_bytes() const { return page_bytes_; }
  size_t slots() const { return slot_count_; }
  size_t live() const { return live_.load(std::memory_order_relaxed); }

  heap_client::SpinLock& lock() { return lock_; }

 private:
  bool ReserveSlots(size_t count);
  GuardedSlot* PopFree();
  void PushFree(const GuardedSlot& slot);
  void Place(GuardedSlot* slot, size_t size_bytes, size_t alignment_bytes, uint64_t bits);
  uint64_t Bits();
  uint64_t BitsLocked(uint64_t below);
  bool IsNearer(const GuardedSlot& a, const GuardedSlot& b, uintptr_t address) const;

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> size_bytes_{0};
  size_t page_bytes_ = 0;
  size_t slot_count_ = 0;
  GuardedSlot* slots_ = nullptr;
  std::atomic<size_t> live_{0};  // kTaken, kLive or kEnding

  heap_client::SpinLock lock_;
  // Under the lock.  A ring: the slot that was freed first comes first.
  heap_client::RandomBits random_;
  uint16_t free_[kMaxSlots] = {};
  size_t first_free_ = 0;
  size_t free_count_ = 0;
};

// The one pool of the process.
extern GuardedPool guarded_pool __attribute__((visibility("hidden")));
inline GuardedPool& TheGuardedPool() { return guarded_pool; }

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_
