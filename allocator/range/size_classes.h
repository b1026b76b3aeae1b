// The sizes of the slots that hold sampled blocks.
//
// Small slots: multiples of 16 bytes up to 128, then four sizes per doubling up to 32 KiB.  At most
// a fifth of a slot is unused.  Large runs: four sizes per doubling of 32 KiB granules.  The unused
// end of a run is address space, not memory.
#ifndef ALLOMON_ALLOCATOR_RANGE_SIZE_CLASSES_H_
#define ALLOMON_ALLOCATOR_RANGE_SIZE_CLASSES_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Index of the smallest of {1, 2, ..., 8, 10, 12, 14, 16, 20, ...} that is >= units.
constexpr uint32_t StepIndex(uint64_t units) {
  if (units <= 8) return units == 0 ? 0 : static_cast<uint32_t>(units - 1);
  const uint32_t log2 = 63 - static_cast<uint32_t>(__builtin_clzll(units - 1));
  const uint64_t quarter = uint64_t{1} << (log2 - 2);
  const uint64_t step = (units - 1 - (uint64_t{1} << log2)) / quarter;
  return 8 + (log2 - 3) * 4 + static_cast<uint32_t>(step);
}

// The size at that index.
constexpr uint64_t StepUnits(uint32_t index) {
  if (index < 8) return index + 1;
  const uint32_t log2 = (index - 8) / 4 + 3;
  const uint64_t quarter = uint64_t{1} << (log2 - 2);
  return (uint64_t{1} << log2) + ((index - 8) % 4 + 1) * quarter;
}

inline constexpr size_t kSlotUnitBytes = 16;
inline constexpr size_t kMaxSlotBytes = 32768;
inline constexpr uint32_t kSlotClasses = StepIndex(kMaxSlotBytes / kSlotUnitBytes) + 1;

constexpr uint32_t SlotClass(size_t size_bytes) {
  return StepIndex((size_bytes + kSlotUnitBytes - 1) / kSlotUnitBytes);
}
constexpr size_t SlotBytes(uint32_t slot_class) { return StepUnits(slot_class) * kSlotUnitBytes; }

// The size of each class, and its reciprocal, by which SlotIndex() divides an offset within a span
// without a division instruction.  With the reciprocal rounded up, the quotient is exact while
// offset * size < 2^32.
struct SlotTable {
  struct Row {
    uint32_t bytes;
    uint32_t reciprocal;
  };
  Row rows[kSlotClasses] = {};
  constexpr SlotTable() {
    for (uint32_t c = 0; c < kSlotClasses; ++c) {
      const uint64_t bytes = SlotBytes(c);
      rows[c] = {static_cast<uint32_t>(bytes),
                 static_cast<uint32_t>(((uint64_t{1} << 32) + bytes - 1) / bytes)};
    }
  }
};
inline constexpr SlotTable kSlotTable;

constexpr uint32_t SlotIndex(uint32_t slot_class, uint32_t offset_bytes) {
  return static_cast<uint32_t>(uint64_t{offset_bytes} * kSlotTable.rows[slot_class].reciprocal >>
                               32);
}

// Returns the class for an aligned block; kSlotClasses if no class fits.  Slots start at multiples
// of their size, so the size must be a multiple of the alignment, which is a power of two.
constexpr uint32_t AlignedSlotClass(size_t size_bytes, size_t alignment_bytes) {
  // The test comes first, because rounding up a size near SIZE_MAX would wrap to the smallest slot.
  if (size_bytes > kMaxSlotBytes) return kSlotClasses;
  uint32_t slot_class = SlotClass(size_bytes);
  if (alignment_bytes <= kSlotUnitBytes) return slot_class;
  while (slot_class < kSlotClasses && (SlotBytes(slot_class) & (alignment_bytes - 1)) != 0) {
    ++slot_class;
  }
  return slot_class;
}

// Checks inv.class.fit at the smallest and largest sizes; size_classes_test checks it for each
// size.
static_assert(SlotBytes(SlotClass(1)) == 16 && SlotBytes(SlotClass(129)) == 160);
static_assert(SlotBytes(SlotClass(128)) == 128 && SlotBytes(SlotClass(32768)) == 32768);
static_assert(AlignedSlotClass(SIZE_MAX, 16) == kSlotClasses);
static_assert(SlotBytes(kSlotClasses - 1) == kMaxSlotBytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_SIZE_CLASSES_H_
