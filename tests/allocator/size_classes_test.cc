#include "allocator/range/size_classes.h"

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

TEST(SizeClassesTest, EverySizeGetsTheSmallestSlotThatHoldsIt) {
  for (size_t size = 1; size <= kMaxSlotBytes; ++size) {
    const uint32_t slot_class = SlotClass(size);
    ASSERT_LT(slot_class, kSlotClasses);
    ASSERT_GE(SlotBytes(slot_class), size);
    if (slot_class > 0) {
      ASSERT_LT(SlotBytes(slot_class - 1), size);
    }
  }
}

TEST(SizeClassesTest, AtMostAFifthOfASlotAbove128BytesIsUnused) {
  for (size_t size = 129; size <= kMaxSlotBytes; ++size) {
    const double slot = static_cast<double>(SlotBytes(SlotClass(size)));
    ASSERT_LE(slot - static_cast<double>(size), slot / 5) << size;
  }
}

TEST(SizeClassesTest, AlignedSlotsStartAtMultiplesOfTheAlignment) {
  for (size_t alignment = 8; alignment <= kMaxSlotBytes; alignment *= 2) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{32768}}) {
      const uint32_t slot_class = AlignedSlotClass(size, alignment);
      ASSERT_LT(slot_class, kSlotClasses);
      EXPECT_EQ(SlotBytes(slot_class) % alignment, 0u);
      EXPECT_GE(SlotBytes(slot_class), size);
    }
  }
}

TEST(SizeClassesTest, LargerThanASlotIsNoSlot) {
  EXPECT_EQ(AlignedSlotClass(kMaxSlotBytes + 1, 16), kSlotClasses);
  EXPECT_EQ(AlignedSlotClass(1, 2 * kMaxSlotBytes), kSlotClasses);
}

TEST(SizeClassesTest, ReciprocalDividesEveryOffsetOfASpanExactly) {
  for (uint32_t slot_class = 0; slot_class < kSlotClasses; ++slot_class) {
    const uint32_t slot_bytes = static_cast<uint32_t>(SlotBytes(slot_class));
    for (uint32_t offset = 0; offset < 65536; ++offset) {
      ASSERT_EQ(SlotIndex(slot_class, offset), offset / slot_bytes);
    }
  }
}

TEST(SizeClassesTest, StepsOfHugeRunsDoNotWrap) {
  const uint64_t units = uint64_t{1} << 40;
  EXPECT_EQ(StepUnits(StepIndex(units)), units);
}

}  // namespace
}  // namespace allomon::internal
