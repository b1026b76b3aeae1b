// The table of followed blocks that are the program's own, with blocks that nobody allocated.
#include "followed_blocks.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::backend {
namespace {

constexpr uintptr_t kFirst = uintptr_t{1} << 40;

const void* BlockAt(uintptr_t index, uintptr_t distance_bytes = 16) {
  return reinterpret_cast<const void*>(kFirst + index * distance_bytes);
}

TEST(FollowedBlocks, OthersAreNotThere) {
  EXPECT_EQ(LeaveFollowed(nullptr), 0u);
  EXPECT_EQ(LeaveFollowed(BlockAt(0)), 0u);
  ASSERT_TRUE(EnterFollowed(BlockAt(0)));
  EXPECT_TRUE(MayBeFollowed(BlockAt(0)));
  SetHandleOfFollowed(BlockAt(0), 7);
  EXPECT_EQ(LeaveFollowed(BlockAt(1)), 0u);
  EXPECT_EQ(LeaveFollowed(reinterpret_cast<const void*>(kFirst + 8)), 0u);
  EXPECT_EQ(LeaveFollowed(BlockAt(0)), 7u);
  EXPECT_EQ(LeaveFollowed(BlockAt(0)), 0u);
  EXPECT_FALSE(MayBeFollowed(BlockAt(0)));
}

TEST(FollowedBlocks, ABlockWithoutAHandleLeavesAsWell) {
  ASSERT_TRUE(EnterFollowed(BlockAt(5)));
  EXPECT_EQ(LeaveFollowed(BlockAt(5)), 0u);
  ASSERT_TRUE(EnterFollowed(BlockAt(5)));
  EXPECT_TRUE(SetHandleOfFollowed(BlockAt(5), 9));
  EXPECT_EQ(LeaveFollowed(BlockAt(5)), 9u);
}

TEST(FollowedBlocks, AHandleOfABlockThatHasLeftIsRefused) {
  ASSERT_TRUE(EnterFollowed(BlockAt(6)));
  EXPECT_EQ(LeaveFollowed(BlockAt(6)), 0u);
  EXPECT_FALSE(SetHandleOfFollowed(BlockAt(6), 9));
}

// The first level has 32,768 cells, and the two after it eight times as many each: these need the
// third one.
TEST(FollowedBlocks, ManyHaveTheirHandlesAtAnyDistance) {
  for (const uintptr_t distance_bytes : {16, 48, 4096}) {
    constexpr uint32_t kBlocks = 300'000;
    for (uint32_t i = 0; i < kBlocks; ++i) {
      ASSERT_TRUE(EnterFollowed(BlockAt(i, distance_bytes))) << i;
      SetHandleOfFollowed(BlockAt(i, distance_bytes), i + 1);
    }
    for (uint32_t i = 0; i < kBlocks; ++i) {
      ASSERT_EQ(LeaveFollowed(BlockAt(i, distance_bytes)), i + 1);
    }
    for (const std::atomic<uint32_t>& count : followed_filter) ASSERT_EQ(count.load(), 0u);
  }
}

TEST(FollowedBlocks, ThreadsThatEnterAndLeaveDoNotMixTheirHandles) {
  constexpr uint32_t kThreads = 4, kBlocks = 3'000, kRounds = 20;
  std::vector<std::thread> threads;
  std::atomic<uint32_t> wrong{0};
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread, &wrong] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        for (uint32_t i = thread; i < kThreads * kBlocks; i += kThreads) {
          if (!EnterFollowed(BlockAt(i))) ++wrong;
          SetHandleOfFollowed(BlockAt(i), i + 1);
        }
        for (uint32_t i = thread; i < kThreads * kBlocks; i += kThreads) {
          if (LeaveFollowed(BlockAt(i)) != i + 1) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(FollowedBlocks, OneOfSeveralThreadsThatFreeABlockGetsItsHandle) {
  constexpr uint32_t kThreads = 4, kBlocks = 20'000;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    ASSERT_TRUE(EnterFollowed(BlockAt(i)));
    SetHandleOfFollowed(BlockAt(i), i + 1);
  }
  std::atomic<uint64_t> sum{0};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&sum] {
      for (uint32_t i = 0; i < kBlocks; ++i) sum += LeaveFollowed(BlockAt(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), uint64_t{kBlocks} * (kBlocks + 1) / 2);
}

}  // namespace
}  // namespace allomon::backend
