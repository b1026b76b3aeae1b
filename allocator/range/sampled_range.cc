#include "allocator/range/sampled_range.h"

#include "allocator/range/range_memory.h"
#include "tracker/base/check.h"

namespace allomon::internal {

SampledRange sampled_range;
process_map::SampledBlocks sampled_blocks;

namespace {

constexpr size_t kLargestRangeBytes = size_t{1} << 40;
constexpr size_t kSmallestRangeBytes = size_t{16} << 20;
// Limits the area for small slots; enough for 256 million samples of 64 bytes.
constexpr size_t kLargestSlotArea = size_t{16} << 30;

size_t g_max_range_bytes = kLargestRangeBytes;

}  // namespace

void SampledRange::SetMaxReservationForTesting(size_t bytes) { g_max_range_bytes = bytes; }

bool SampledRange::EnsurePlacedSlow() {
  const SpinLockHolder hold(growth_lock_);
  if (tried_.load(std::memory_order_relaxed)) return base_.load(std::memory_order_relaxed) != 0;
  bool placed = false;
  for (size_t bytes = kLargestRangeBytes; bytes >= kSmallestRangeBytes && !placed; bytes /= 4) {
    placed = bytes <= g_max_range_bytes && PlaceLocked(bytes);
  }
  tried_.store(true, std::memory_order_release);
  return placed;
}

// Divides the range into slots, large runs, and the metadata of both.
bool SampledRange::PlaceLocked(size_t size_bytes) {
  const uintptr_t place = ChooseRangePlace(size_bytes);
  if (place == 0) return false;
  ALLOMON_DCHECK("inv.range.high", IsHigh(place, size_bytes));
  // Runs are aligned to granules, and slots to the largest slot.
  constexpr size_t kAlign = size_t{1} << 20;
  const uintptr_t base = (place + kAlign - 1) & ~(kAlign - 1);
  const size_t slots = size_bytes / 4 < kLargestSlotArea ? size_bytes / 4 : kLargestSlotArea;
  const size_t runs = size_bytes / 2;
  const uintptr_t slot_meta = base + slots + runs;
  const uintptr_t run_meta = slot_meta + SlotClasses::MetaBytes(slots);
  if (run_meta + LargeRuns::MetaBytes(runs) > place + size_bytes) {
    GiveUpRangePlace(place, size_bytes);
    return false;
  }
  if (!slots_.Init(base, slots, slot_meta)) {
    GiveUpRangePlace(place, size_bytes);
    return false;
  }
  runs_.Init(base + slots, runs, run_meta);
  sampled_blocks.slot_area_bytes = slots;
  sampled_blocks.end = run_meta + LargeRuns::MetaBytes(runs);
  slots_.Describe(&sampled_blocks);
  runs_.Describe(&sampled_blocks);
  __atomic_store_n(&sampled_blocks.begin, base, __ATOMIC_RELEASE);
  size_bytes_.store(slots + runs, std::memory_order_relaxed);
  // Release pairs with the acquire in Contains() and in Allocate().
  base_.store(base, std::memory_order_release);
  return true;
}

void* SampledRange::Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed,
                             HandleWord** word) {
  *zeroed = false;
  if (!tried_.load(std::memory_order_acquire)) EnsurePlacedSlow();
  if (base_.load(std::memory_order_acquire) == 0) return nullptr;
  // Near SIZE_MAX, rounding up to a size class would wrap around to a small one.
  if (size_bytes > size_bytes_.load(std::memory_order_relaxed)) return nullptr;
  void* block = AllocatePlaced(size_bytes, alignment_bytes, zeroed, word);
  if (block != nullptr) {
    ALLOMON_DCHECK_LE("inv.class.fit", size_bytes, UsableBytes(block));
    ALLOMON_DCHECK_EQ("inv.class.fit", reinterpret_cast<uintptr_t>(block) & (alignment_bytes - 1),
                      0);
    ALLOMON_DCHECK("inv.range.inside", Contains(block));
    ALLOMON_DCHECK_EQ("inv.range.inside", Find(block), *word);
  }
  return block;
}

inline void* SampledRange::AllocatePlaced(size_t size_bytes, size_t alignment_bytes, bool* zeroed,
                                          HandleWord** word) {
  const uint32_t slot_class = AlignedSlotClass(size_bytes, alignment_bytes);
  if (slot_class < kSlotClasses) return slots_.Allocate(slot_class, word);
  return runs_.Allocate(size_bytes, alignment_bytes, zeroed, word);
}

void SampledRange::Release(const void* block, HandleWord* word) {
  ALLOMON_DCHECK_EQ("inv.range.inside", Find(block), word);
  if (IsLarge(block)) {
    runs_.Release(word);
  } else {
    slots_.Release(word);
  }
}

size_t SampledRange::UsableBytes(const void* block) const {
  return IsLarge(block) ? runs_.RunBytesOf(block) : slots_.SlotBytesOf(block);
}

}  // namespace allomon::internal
