// Pages for single blocks, each between two inaccessible pages.  See "The guard" in
// allocator/README.md.
//
//   guard | slot 0 | guard | slot 1 | guard | ... | slot n-1 | guard
//
// A block lies at one of the two ends of its slot's page, chosen at random.  The rest of the page
// is filled with a byte drawn for the block, and is compared with that byte when the block is
// freed. The page of a free slot is inaccessible, so an access to a freed block faults until the
// slot is used again.  A slot is not used again before half of all free slots have been used. The
// next slot is drawn from those that have waited that long.
//
// The pool is reserved once, at a random place, and stays.  Costs: 32 MiB of address space
// and 2.2 MiB of records, both untouched at first; 4 KiB per live block, of which there are 1,024
// at most; two mappings per slot ever used, so 8,192 of the 65,530 that Linux grants a process.
//
// Thread safe, except Reserve().  May be called inside malloc and free.  Signal handlers may call
// Contains() and SlotAt() and read the slots.
#ifndef ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_
#define ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/guard/guarded_slot.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/heap_client.h"
#include "tracker/heap_tools.h"

namespace allomon::internal {

class GuardedPool {
 public:
  static constexpr size_t kMaxSlots = 4096;
  static constexpr size_t kMinSlots = 64;
  // One fourth of the slots may be live.  The others keep the records of freed blocks.
  static constexpr size_t kSlotsPerLive = 4;

  // Called once, by one thread.  Returns false if there is no room for kMinSlots.  Slots and places
  // are drawn from `seed`; the pool's address never is.
  bool Reserve(uint64_t seed);

  bool Contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - base_.load(std::memory_order_acquire) <
           size_bytes_.load(std::memory_order_relaxed);
  }

  // Returns the slot of a writable page with room for the block, in state kTaken.  The block is
  // zero-filled.  The caller sets handle, traces and note, and calls BecomeLive().  Returns nullptr
  // if the block does not fit a page, if too many blocks are live, or if the kernel refuses.  Cost:
  // a system call and a page fault, about 2 us.
  GuardedSlot* Take(size_t size_bytes, size_t alignment_bytes);

  // Returns a slot that is kEnding, or kTaken if no user has seen the block.  Cost: two system
  // calls.
  void Return(GuardedSlot* slot);

  // Returns the first byte outside of the block that was overwritten; 0 if all are intact.  The
  // page must be accessible.  Cost: about 100 ns.
  uintptr_t FindOverwrite(const GuardedSlot& slot) const;

  // Returns the slot of an address in the pool.  For an address in a guard page it is one of the
  // two adjacent slots: the live slot if only one is live, otherwise the slot whose block is
  // nearer. nullptr if the slot never had a block.
  GuardedSlot* SlotAt(uintptr_t address) const;

  uintptr_t PageOf(const GuardedSlot& slot) const {
    return base_.load(std::memory_order_relaxed) +
           (2 * static_cast<size_t>(&slot - slots_) + 1) * page_bytes_;
  }
  size_t page_bytes() const { return page_bytes_; }
  size_t slots() const { return slot_count_; }
  size_t live() const { return live_.load(std::memory_order_relaxed); }

  // Used by fork, which holds the lock while it copies the process.
  SpinLock& lock() ALLOMON_RETURNS_LOCK(lock_) { return lock_; }

 private:
  bool ReserveSlots(size_t count) ALLOMON_REQUIRES(lock_);
  GuardedSlot* PopFree() ALLOMON_EXCLUDES(lock_);
  void PushFree(const GuardedSlot& slot) ALLOMON_EXCLUDES(lock_);
  void Place(GuardedSlot* slot, size_t size_bytes, size_t alignment_bytes, uint64_t bits);
  uint64_t Bits() ALLOMON_EXCLUDES(lock_);
  uint64_t BitsLocked(uint64_t below) ALLOMON_REQUIRES(lock_);
  bool IsNearer(const GuardedSlot& a, const GuardedSlot& b, uintptr_t address) const;

  std::atomic<uintptr_t> base_{0};
  std::atomic<size_t> size_bytes_{0};
  size_t page_bytes_ = 0;
  size_t slot_count_ = 0;
  GuardedSlot* slots_ = nullptr;
  std::atomic<size_t> live_{0};  // kTaken, kLive or kEnding

  SpinLock lock_;
  heap_client::RandomBits random_ ALLOMON_GUARDED_BY(lock_);
  // A ring of the numbers of the free slots, the one freed first at the front.
  uint16_t free_[kMaxSlots] ALLOMON_GUARDED_BY(lock_) = {};
  size_t first_free_ ALLOMON_GUARDED_BY(lock_) = 0;
  size_t free_count_ ALLOMON_GUARDED_BY(lock_) = 0;
};

// The one pool of the process.
extern GuardedPool guarded_pool __attribute__((visibility("hidden")));
inline GuardedPool& TheGuardedPool() { return guarded_pool; }

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_GUARDED_POOL_H_
