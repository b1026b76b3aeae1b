#include "allocator/sampled_range.h"

#include "allocator/range_memory.h"

namespace allomon::internal {

SampledRange sampled_range;

namespace {

constexpr size_t kLargestReservation = size_t{1} << 40;
constexpr size_t kSmallestReservation = size_t{16} << 20;
// Small slots never need more: 16 GiB is 256 million samples of 64 bytes.
constexpr size_t kLargestSlotArea = size_t{16} << 30;

size_t g_max_reservation = kLargestReservation;

}  // namespace

void SampledRange::SetMaxReservationForTesting(size_t bytes) { g_max_reservation = bytes; }

bool SampledRange::EnsureReservedSlow() {
  const SpinLockHolder hold(growth_lock_);
  if (tried_.load(std::memory_order_relaxed)) return base_.load(std::memory_order_relaxed) != 0;
  bool reserved = false;
  for (size_t bytes = kLargestReservation; bytes >= kSmallestReservation && !reserved; bytes /= 4) {
    reserved = bytes <= g_max_reservation && Reserve(bytes);
  }
  tried_.store(true, std::memory_order_release);
  return reserved;
}

// The range is laid out as: slots, large runs, metadata of both.
bool SampledRange::Reserve(size_t size_bytes) {
  const uintptr_t reserved = ChooseRangePlace(size_bytes);
  if (reserved == 0) return false;
  // Runs are aligned to granules, and slots to the largest slot.
  constexpr size_t kAlign = size_t{1} << 20;
  const uintptr_t base = (reserved + kAlign - 1) & ~(kAlign - 1);
  const size_t slots = size_bytes / 4 < kLargestSlotArea ? size_bytes / 4 : kLargestSlotArea;
  const size_t runs = size_bytes / 2;
  const uintptr_t slot_meta = base + slots + runs;
  const uintptr_t run_meta = slot_meta + SlotClasses::MetaBytes(slots);
  if (run_meta + LargeRuns::MetaBytes(runs) > reserved + size_bytes) {
    GiveUpRangePlace(reserved, size_bytes);
    return false;
  }
  if (!slots_.Init(base, slots, slot_meta)) {
    GiveUpRangePlace(reserved, size_bytes);
    return false;
  }
  runs_.Init(base + slots, runs, run_meta);
  size_bytes_.store(slots + runs, std::memory_order_relaxed);
  // Release pairs with the acquire in Contains() and in Allocate().
  base_.store(base, std::memory_order_release);
  return true;
}

void* SampledRange::Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed,
                             HandleWord** word) {
  *zeroed = false;
  if (!tried_.load(std::memory_order_acquire)) EnsureReservedSlow();
  if (base_.load(std::memory_order_acquire) == 0) return nullptr;
  // Near SIZE_MAX, rounding up to a size class would wrap around to a small one.
  if (size_bytes > size_bytes_.load(std::memory_order_relaxed)) return nullptr;
  const uint32_t slot_class = AlignedSlotClass(size_bytes, alignment_bytes);
  if (slot_class < kSlotClasses) return slots_.Allocate(slot_class, growth_lock_, word);
  return runs_.Allocate(size_bytes, alignment_bytes, zeroed, word, growth_lock_);
}

void SampledRange::Release(const void* block, HandleWord* word) {
  if (IsLarge(block)) {
    runs_.Release(word, growth_lock_);
  } else {
    slots_.Release(word);
  }
}

size_t SampledRange::UsableBytes(const void* block) const {
  return IsLarge(block) ? runs_.RunBytesOf(block) : slots_.SlotBytesOf(block);
}

}  // namespace allomon::internal
