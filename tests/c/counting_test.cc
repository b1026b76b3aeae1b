// Exact counts of one thread by the C interface.
#include <allomon/allomon.h>

#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"

namespace {

using allomon::SamplingFree;
using allomon::SamplingMalloc;
using allomon::SamplingRealloc;

class CountingTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(allomon_counting_start(&counting_, nullptr), ALLOMON_OK); }
  void TearDown() override { allomon_counting_end(&counting_); }

  allomon_allocation_totals Totals() const {
    allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
    EXPECT_EQ(allomon_counting_read(&counting_, &totals), ALLOMON_OK);
    return totals;
  }

  allomon_counting counting_ = {};
};

TEST_F(CountingTest, BlocksBytesPeakAndWhatLivesAreExact) {
  void* const kept = SamplingMalloc(100);
  for (int i = 0; i < 10; ++i) SamplingFree(SamplingMalloc(30));
  EXPECT_EQ(allomon_counting_stop(&counting_), ALLOMON_OK);
  SamplingFree(kept);
  const allomon_allocation_totals totals = Totals();
  EXPECT_EQ(totals.blocks, 11u);
  EXPECT_EQ(totals.bytes, 400u);
  EXPECT_EQ(totals.peak_bytes, 130u);
  EXPECT_EQ(totals.live_blocks, 1u);  // as it was at the stop
  EXPECT_EQ(totals.live_bytes, 100u);
  EXPECT_EQ(totals.lost_blocks, 0u);
}

TEST_F(CountingTest, ReallocIsAnAllocationAndAFreeAndBothBlocksAreInThePeak) {
  void* const grown = SamplingRealloc(SamplingMalloc(1000), 3000);
  EXPECT_EQ(Totals().blocks, 2u);
  EXPECT_EQ(Totals().bytes, 4000u);
  EXPECT_EQ(Totals().peak_bytes, 4000u);
  EXPECT_EQ(Totals().live_bytes, 3000u);
  SamplingFree(grown);
  EXPECT_EQ(Totals().live_blocks, 0u);
}

TEST_F(CountingTest, OtherThreadsCountNothingButTheirFreesDo) {
  void* const block = SamplingMalloc(64);
  std::thread([&] {
    SamplingFree(SamplingMalloc(1 << 20));
    SamplingFree(block);
  }).join();
  const allomon_allocation_totals totals = Totals();
  EXPECT_EQ(totals.bytes, 64u);
  EXPECT_EQ(totals.live_blocks, 0u);
}

TEST_F(CountingTest, BlocksFromBeforeAndAfterAreInNoNumber) {
  EXPECT_EQ(allomon_counting_stop(&counting_), ALLOMON_OK);
  void* const before = SamplingMalloc(10);
  allomon_counting second = {};
  ASSERT_EQ(allomon_counting_start(&second, nullptr), ALLOMON_OK);
  SamplingFree(before);
  EXPECT_EQ(allomon_counting_stop(&second), ALLOMON_OK);
  SamplingFree(SamplingMalloc(10));
  allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
  EXPECT_EQ(allomon_counting_read(&second, &totals), ALLOMON_OK);
  EXPECT_EQ(totals.blocks + totals.live_blocks + totals.peak_bytes, 0u);
  allomon_counting_end(&second);
}

TEST_F(CountingTest, TheOuterOneCountsWhatTheInnerOneDoes) {
  SamplingFree(SamplingMalloc(8));
  allomon_counting inner = {};
  ASSERT_EQ(allomon_counting_start(&inner, nullptr), ALLOMON_OK);
  SamplingFree(SamplingMalloc(8));
  allomon_counting_stop(&inner);
  allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
  allomon_counting_read(&inner, &totals);
  allomon_counting_end(&inner);
  EXPECT_EQ(totals.blocks, 1u);
  EXPECT_EQ(Totals().blocks, 2u);
}

struct Stacks {
  int count = 0;
  uint64_t blocks = 0, bytes = 0, live_blocks = 0;
  bool has_rest = false;
};

int32_t Add(void* user, const allomon_counted_stack* stack) {
  Stacks& stacks = *static_cast<Stacks*>(user);
  ++stacks.count;
  stacks.blocks += stack->blocks;
  stacks.bytes += stack->bytes;
  stacks.live_blocks += stack->live_blocks;
  stacks.has_rest |= stack->n_frames == 0;
  return 0;
}

TEST_F(CountingTest, StacksAddUpToTheTotals) {
  void* const first = SamplingMalloc(10);
  void* const second = SamplingMalloc(20);
  for (int i = 0; i < 5; ++i) SamplingFree(SamplingMalloc(3));
  Stacks stacks;
  EXPECT_EQ(allomon_counting_stacks(&counting_, Add, &stacks), ALLOMON_NOT_STOPPED);
  allomon_counting_stop(&counting_);
  EXPECT_EQ(allomon_counting_stacks(&counting_, Add, &stacks), ALLOMON_OK);
  EXPECT_EQ(stacks.count, 3);
  EXPECT_EQ(stacks.blocks, 7u);
  EXPECT_EQ(stacks.bytes, 45u);
  EXPECT_EQ(stacks.live_blocks, 2u);
  EXPECT_FALSE(stacks.has_rest);
  SamplingFree(first);
  SamplingFree(second);
}

// Makes a stack for each number: each bit selects one of two calls.
__attribute__((noinline)) void AllocateBelow(unsigned number,
                                             int bits) {  // NOLINT(misc-no-recursion)
  if (bits == 0) {
    SamplingFree(SamplingMalloc(8));
  } else if ((number & 1) != 0) {
    AllocateBelow(number >> 1, bits - 1);
    asm volatile("");
  } else {
    AllocateBelow(number >> 1, bits - 1);
    asm volatile("" ::: "memory");
  }
}

TEST_F(CountingTest, StacksWithoutAPlaceAreOneRow) {
  constexpr unsigned kStacks = 5000;
  for (unsigned i = 0; i < kStacks; ++i) AllocateBelow(i, 13);
  allomon_counting_stop(&counting_);
  Stacks stacks;
  allomon_counting_stacks(&counting_, Add, &stacks);
  EXPECT_EQ(stacks.blocks, kStacks);
  EXPECT_TRUE(stacks.has_rest);
  EXPECT_LT(stacks.count, 4097);
}

TEST(CountingErrorTest, WhatCannotBeIsAStatus) {
  allomon_counting counting = {};
  allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
  EXPECT_EQ(allomon_counting_start(nullptr, nullptr), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_counting_stop(&counting), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_counting_read(&counting, &totals), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_counting_stacks(&counting, Add, nullptr), ALLOMON_INVALID_ARGUMENT);
  allomon_counting_end(&counting);
  allomon_counting_options options = ALLOMON_COUNTING_DEFAULTS;
  options.callstack_size = 1025;
  EXPECT_EQ(allomon_counting_start(&counting, &options), ALLOMON_BAD_CALLSTACK_SIZE);
  options.struct_size = 3;
  EXPECT_EQ(allomon_counting_start(&counting, &options), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_counting_start(&counting, nullptr), ALLOMON_OK);
  EXPECT_EQ(allomon_counting_start(&counting, nullptr), ALLOMON_ALREADY_STARTED);
  totals.struct_size = 8;
  EXPECT_EQ(allomon_counting_read(&counting, &totals), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_counting_stop(&counting), ALLOMON_OK);
  EXPECT_EQ(allomon_counting_stop(&counting), ALLOMON_NOT_STARTED);
  allomon_counting_end(&counting);
  allomon_counting_end(&counting);
}

TEST(CountingErrorTest, ANinthIsTooMany) {
  std::vector<allomon_counting> countings(9, allomon_counting{});
  for (int i = 0; i < 8; ++i) ASSERT_EQ(allomon_counting_start(&countings[i], nullptr), ALLOMON_OK);
  EXPECT_EQ(allomon_counting_start(&countings[8], nullptr), ALLOMON_TOO_MANY);
  for (allomon_counting& counting : countings) allomon_counting_end(&counting);
}

TEST(SourceLineTest, NativeCodeHasNoneInTheProcess) {
  char text[100];
  uint32_t line = 0;
  const auto here = reinterpret_cast<uintptr_t>(&SamplingMalloc);
  EXPECT_EQ(allomon_source_line(here, text, sizeof(text), &line), ALLOMON_NOT_FOUND);
  EXPECT_EQ(allomon_source_line(here, nullptr, 0, &line), ALLOMON_INVALID_ARGUMENT);
}

}  // namespace
