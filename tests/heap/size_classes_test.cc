// The size classes are those that the allocator itself gives.
#include "tools/heap/size_classes.h"

#include <cstdint>

#include "allocator/allocator.h"
#include "gtest/gtest.h"

namespace allomon::heap {
namespace {

uint64_t UsableBytes(uint64_t size_bytes) {
  void* const block = SamplingMalloc(size_bytes);
  const uint64_t usable_bytes = SamplingUsableSize(block);
  SamplingFree(block);
  return usable_bytes;
}

TEST(SizeClassesTest, EverySizeUpToTheLastClassIsRoundedSo) {
  for (uint64_t size = 0; size <= kMostClassBytes; ++size) {
    ASSERT_EQ(ClassBytes(size), UsableBytes(size)) << size;
  }
}

TEST(SizeClassesTest, LargerBlocksAreWholePages) {
  for (uint64_t size = kMostClassBytes + 1; size < uint64_t{1} << 26; size += size / 7) {
    const uint64_t bytes = ClassBytes(size);
    ASSERT_EQ(bytes % kLargeStepBytes, 0u) << size;
    ASSERT_GE(bytes, size);
    ASSERT_LT(bytes - size, kLargeStepBytes) << size;
    ASSERT_LE(bytes, (UsableBytes(size) + kLargeStepBytes - 1) / kLargeStepBytes * kLargeStepBytes)
        << size;
  }
}

TEST(SizeClassesTest, TheNextSmallerSizeIsTheLastOfTheClassBelow) {
  for (uint64_t size = 9; size <= 3 * kMostClassBytes; ++size) {
    const uint64_t smaller = NextSmallerSize(size);
    ASSERT_LT(smaller, size);
    ASSERT_EQ(ClassBytes(smaller), smaller);
    ASSERT_EQ(ClassBytes(smaller + 1), ClassBytes(size)) << size;
  }
  EXPECT_EQ(NextSmallerSize(8), 0u);
  EXPECT_EQ(NextSmallerSize(0), 0u);
  EXPECT_EQ(NextSmallerSize(65), 64u);
  EXPECT_EQ(NextSmallerSize(64), 48u);
}

TEST(SizeClassesTest, HugeRequestsDoNotWrap) {
  EXPECT_EQ(ClassBytes(UINT64_MAX), UINT64_MAX);
  EXPECT_GT(ClassBytes(UINT64_MAX / 5), UINT64_MAX / 5);
}

}  // namespace
}  // namespace allomon::heap
