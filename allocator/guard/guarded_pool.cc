#include "allocator/guard/guarded_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "allocator/host/high_reservation.h"
#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/base/own_mappings.h"

namespace allomon::internal {

ALLOMON_LARGE_ZEROS GuardedPool guarded_pool;

namespace {

using State = GuardedSlot::State;

uintptr_t RoundUp(uintptr_t value, size_t step) { return (value + step - 1) & ~(step - 1); }

// Returns the alignment that the backend gives to every block of that size.
size_t NaturalAlignment(size_t size_bytes) { return size_bytes <= 8 ? 8 : 16; }

// Returns the first byte in [begin, end) that is not `filler`; 0 if all are.
uintptr_t FirstOther(uintptr_t begin, uintptr_t end, unsigned char filler) {
  if (begin >= end) return 0;
  const unsigned char* first = reinterpret_cast<const unsigned char*>(begin);
  // If the first byte is the filler, and each byte equals its neighbour, all are the filler.
  if (*first == filler && memcmp(first, first + 1, end - begin - 1) == 0) return 0;
  while (*first == filler) ++first;
  ALLOMON_DCHECK_LT("inv.guard.place", reinterpret_cast<uintptr_t>(first), end);
  return reinterpret_cast<uintptr_t>(first);
}

}  // namespace

bool GuardedPool::Reserve(uint64_t seed) {
  const SpinLockHolder hold(lock_);
  page_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t count = kMaxSlots; count >= kMinSlots; count /= 4) {
    const size_t bytes = (2 * count + 1) * page_bytes_ + count * sizeof(GuardedSlot);
    if (bytes > AllowedReservationBytes() || !ReserveSlots(count)) continue;
    random_.Seed(seed, 0);
    return true;
  }
  return false;
}

bool GuardedPool::ReserveSlots(size_t count) {
  const size_t bytes = (2 * count + 1) * page_bytes_;
  const uintptr_t base = ReserveHigh(RandomBaseBesideRange(), bytes);
  if (base == 0) return false;
  ALLOMON_DCHECK("inv.range.high", IsHigh(base, bytes));
  void* records = mmap(nullptr, count * sizeof(GuardedSlot), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (records == MAP_FAILED) {
    ReleaseHigh(base, bytes);
    return false;
  }
  slots_ = static_cast<GuardedSlot*>(records);  // zero is a valid record: kUnused
  slot_count_ = free_count_ = count;
  for (size_t i = 0; i < count; ++i) free_[i] = static_cast<uint16_t>(i);
  size_bytes_.store(bytes, std::memory_order_relaxed);
  NoteMapping(records, count * sizeof(GuardedSlot), MappingUse::kGuard);
  NoteMapping(reinterpret_cast<void*>(base), bytes, MappingUse::kGuard);
  // Release pairs with the acquire in Contains().
  base_.store(base, std::memory_order_release);
  return true;
}

uint64_t GuardedPool::Bits() {
  const SpinLockHolder hold(lock_);
  return random_.Next();
}

// The bias of the remainder is below 2^-51.
uint64_t GuardedPool::BitsLocked(uint64_t below) {
  ALLOMON_DCHECK("inv.lock.held", lock_.IsHeldForCheck());
  ALLOMON_DCHECK_NE("inv.guard.owner", below, 0u);
  return random_.Next() % below;
}

// Draws one of the older half of the free slots: a freed slot waits until half of the other slots
// have been taken.  (The oldest slot takes the place of the drawn one, and so stays in the half.)
GuardedSlot* GuardedPool::PopFree() {
  const SpinLockHolder hold(lock_);
  if (slot_count_ - free_count_ >= slot_count_ / kSlotsPerLive) return nullptr;
  const size_t drawn = (first_free_ + BitsLocked(free_count_ / 2)) % slot_count_;
  std::swap(free_[drawn], free_[first_free_]);
  ALLOMON_DCHECK_LT("inv.guard.owner", free_[first_free_], slot_count_);
  GuardedSlot* slot = &slots_[free_[first_free_]];
  first_free_ = (first_free_ + 1) % slot_count_;
  --free_count_;
  return slot;
}

void GuardedPool::PushFree(const GuardedSlot& slot) {
  const SpinLockHolder hold(lock_);
  ALLOMON_DCHECK_LT("inv.guard.owner", free_count_, slot_count_);
  free_[(first_free_ + free_count_) % slot_count_] = static_cast<uint16_t>(&slot - slots_);
  ++free_count_;
}

GuardedSlot* GuardedPool::Take(size_t size_bytes, size_t alignment_bytes) {
  const size_t alignment = alignment_bytes > NaturalAlignment(size_bytes)
                               ? alignment_bytes
                               : NaturalAlignment(size_bytes);
  if (size_bytes > page_bytes_ || alignment > page_bytes_) return nullptr;
  GuardedSlot* slot = PopFree();
  if (slot == nullptr) return nullptr;
  ALLOMON_DCHECK("inv.guard.owner",
                 slot->Load() == State::kUnused || slot->Load() == State::kFreed);
  void* page = reinterpret_cast<void*>(PageOf(*slot));
  if (mprotect(page, page_bytes_, PROT_READ | PROT_WRITE) != 0) {
    PushFree(*slot);
    return nullptr;
  }
  live_.fetch_add(1, std::memory_order_relaxed);
  // A concurrent report about the page's last block may read fields of the new block after this
  // store.
  slot->state.store(State::kTaken, std::memory_order_relaxed);
  slot->handle = 0;
  slot->note.length_bytes = 0;
  slot->allocated.Clear();
  slot->freed.Clear();
  Place(slot, size_bytes, alignment, Bits());
  return slot;
}

void GuardedPool::Place(GuardedSlot* slot, size_t size_bytes, size_t alignment_bytes,
                        uint64_t bits) {
  const uintptr_t page = PageOf(*slot);
  const bool at_the_end = (bits & 1) != 0;
  // A block of no bytes has an address in its page, too.
  const size_t extent = RoundUp(size_bytes == 0 ? 1 : size_bytes, alignment_bytes);
  slot->block = at_the_end ? page + page_bytes_ - extent : page;
  slot->size_bytes = static_cast<uint32_t>(size_bytes);
  ALLOMON_DCHECK_LE("inv.guard.place", page, slot->block);
  ALLOMON_DCHECK_LE("inv.guard.place", slot->block + size_bytes, page + page_bytes_);
  ALLOMON_DCHECK_EQ("inv.guard.place", slot->block % alignment_bytes, 0);
  // The filler is never 0, because 0 is the value most often written by mistake.
  slot->filler = static_cast<unsigned char>(bits >> 8) | 1;
  const uintptr_t end = slot->block + size_bytes;
  if (slot->dirty) memset(reinterpret_cast<void*>(slot->block), 0, size_bytes);
  memset(reinterpret_cast<void*>(page), slot->filler, slot->block - page);
  memset(reinterpret_cast<void*>(end), slot->filler, page + page_bytes_ - end);
}

uintptr_t GuardedPool::FindOverwrite(const GuardedSlot& slot) const {
  ALLOMON_DCHECK("inv.guard.page", slot.Load() != State::kUnused && slot.Load() != State::kFreed);
  const uintptr_t page = PageOf(slot);
  const uintptr_t behind =
      FirstOther(slot.block + slot.size_bytes, page + page_bytes_, slot.filler);
  return behind != 0 ? behind : FirstOther(page, slot.block, slot.filler);
}

// Mapping fresh memory over the page would remove access and memory in one call, which takes a
// third longer than the two calls here.
void GuardedPool::Return(GuardedSlot* slot) {
  ALLOMON_DCHECK("inv.guard.owner",
                 slot->Load() == State::kTaken || slot->Load() == State::kEnding);
  void* page = reinterpret_cast<void*>(PageOf(*slot));
  const bool inaccessible = mprotect(page, page_bytes_, PROT_NONE) == 0;
  // The kernel refuses madvise() for locked memory (mlockall).
  slot->dirty = madvise(page, page_bytes_, MADV_DONTNEED) != 0;
  const bool never_seen = slot->Load() == State::kTaken;
  slot->state.store(never_seen ? State::kUnused : State::kFreed, std::memory_order_release);
  live_.fetch_sub(1, std::memory_order_relaxed);
  // inv.guard.page: the page is a mapping by itself, so mprotect() needs no further mapping and
  // cannot fail for lack of one.  If it fails nevertheless, the slot is never used again.
  if (inaccessible) PushFree(*slot);
}

bool GuardedPool::IsNearer(const GuardedSlot& a, const GuardedSlot& b, uintptr_t address) const {
  if (!b.HasOrHadBlock()) return true;
  if (!a.HasOrHadBlock()) return false;
  const bool a_lives = a.Load() == State::kLive;
  if (a_lives != (b.Load() == State::kLive)) return a_lives;
  return address - (a.block + a.size_bytes) < b.block - address;
}

GuardedSlot* GuardedPool::SlotAt(uintptr_t address) const {
  ALLOMON_DCHECK("inv.guard.place", Contains(reinterpret_cast<const void*>(address)));
  const size_t page = (address - base_.load(std::memory_order_acquire)) / page_bytes_;
  GuardedSlot* slot = nullptr;
  if (page % 2 == 1) {
    slot = &slots_[page / 2];
  } else if (page == 0) {
    slot = &slots_[0];
  } else if (page / 2 == slot_count_) {
    slot = &slots_[slot_count_ - 1];
  } else {
    GuardedSlot& before = slots_[page / 2 - 1];
    GuardedSlot& behind = slots_[page / 2];
    slot = IsNearer(before, behind, address) ? &before : &behind;
  }
  return slot->HasOrHadBlock() ? slot : nullptr;
}

}  // namespace allomon::internal
