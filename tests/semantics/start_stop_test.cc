// start, stop and discard: their errors, and the samples taken between them.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tests/support/statistics.h"
#include "tracker/core/pinned_session.h"

namespace allomon {
namespace {

using ::allomon::testing::BinomialTolerance;
using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

TEST(StartStopTest, RatesOutsideZeroToOneAreRefused) {
  Ledger ledger;
  for (const double rate : {-1e-9, 1.0000001, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    const auto started = Tracker::start(rate, LedgerTracker(&ledger));
    EXPECT_EQ(started.status().code(), absl::StatusCode::kInvalidArgument) << rate;
  }
  EXPECT_FALSE(Tracker::is_sampling());
}

TEST(StartStopTest, StartingTwiceFailsAndLeavesTheFirstAlone) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  EXPECT_EQ(Tracker::start(1, LedgerTracker(&ledger)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  SamplingFree(SamplingMalloc(8));
  EXPECT_EQ(ledger.blocks.size(), 1u);
  EXPECT_TRUE(Tracker::stop().ok());
}

TEST(StartStopTest, StoppingWhenStoppedFails) {
  EXPECT_EQ(Tracker::stop().code(), absl::StatusCode::kFailedPrecondition);
}

// Ids that were never handed out.  No such id may refer to a slot without a tracker.
TEST(StartStopTest, IdsOfNoTrackerAreNotFound) {
  for (const uint32_t value : {0u, 16u, 0x7fffffffu, UINT32_MAX - 16, UINT32_MAX}) {
    const TrackerId id{value};
    EXPECT_EQ(Tracker::statistics(id).status().code(), absl::StatusCode::kNotFound) << value;
    EXPECT_TRUE(Tracker::snapshot(id).empty()) << value;
    EXPECT_EQ(Tracker::drain(id).code(), absl::StatusCode::kNotFound) << value;
    EXPECT_EQ(Tracker::discard(id).code(), absl::StatusCode::kNotFound) << value;
    for (const StopMode mode : {StopMode::kDiscard, StopMode::kKeepTracking}) {
      EXPECT_EQ(Tracker::stop(id, mode).code(), absl::StatusCode::kFailedPrecondition) << value;
    }
    EXPECT_FALSE(internal::PinnedSession(value)) << value;
  }
}

TEST(StartStopTest, CallstackSizeBeyondTheLimitIsRefused) {
  Ledger ledger;
  StartOptions options;
  options.callstack_size = 1025;
  EXPECT_EQ(Tracker::start(1, LedgerTracker(&ledger), options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(StartStopTest, RateZeroNeverSamples) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(0, LedgerTracker(&ledger)).ok());
  for (int i = 0; i < 1000; ++i) SamplingFree(SamplingMalloc(100000));
  EXPECT_TRUE(ledger.blocks.empty());
  EXPECT_TRUE(Tracker::stop().ok());
}

// Four refused requests of half the address space use up the longest gap.
TEST(StartStopTest, RateZeroNeverSamplesHugeRequests) {
  Ledger ledger;
  const auto id = Tracker::start(0, LedgerTracker(&ledger));
  ASSERT_TRUE(id.ok());
  volatile size_t half_bytes = PTRDIFF_MAX;
  for (int i = 0; i < 16; ++i) EXPECT_EQ(SamplingMalloc(half_bytes), nullptr);
  EXPECT_TRUE(ledger.blocks.empty());
  EXPECT_EQ(Tracker::statistics(*id)->dropped_blocks, 0u);
  EXPECT_TRUE(Tracker::stop().ok());
}

TEST(StartStopTest, StoppedTrackerStillFollowsUntilDiscarded) {
  Ledger ledger;
  const auto id = Tracker::start(1, LedgerTracker(&ledger));
  ASSERT_TRUE(id.ok());
  void* before_discard = SamplingMalloc(8);
  void* after_discard = SamplingMalloc(8);
  ASSERT_TRUE(Tracker::stop(StopMode::kKeepTracking).ok());
  SamplingFree(SamplingMalloc(8));
  EXPECT_EQ(ledger.blocks.size(), 2u);
  SamplingFree(before_discard);
  EXPECT_EQ(ledger.Live(), 1);
  ASSERT_TRUE(Tracker::discard(*id).ok());
  SamplingFree(after_discard);
  EXPECT_EQ(ledger.Live(), 1);
}

TEST(StartStopTest, DiscardNeedsAStoppedTrackerAndWorksOnce) {
  Ledger ledger;
  const auto id = Tracker::start(1, LedgerTracker(&ledger));
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(Tracker::discard(*id).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Tracker::stop(*id, StopMode::kKeepTracking).ok());
  EXPECT_TRUE(Tracker::discard(*id).ok());
  EXPECT_EQ(Tracker::discard(*id).code(), absl::StatusCode::kNotFound);
}

TEST(StartStopTest, NewTrackerStartsWhileAnOldOneIsStillFollowing) {
  Ledger first;
  Ledger second;
  const auto id = Tracker::start(1, LedgerTracker(&first));
  void* old_block = SamplingMalloc(8);
  ASSERT_TRUE(Tracker::stop(StopMode::kKeepTracking).ok());
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&second)).ok());
  void* new_block = SamplingMalloc(8);
  SamplingFree(old_block);
  SamplingFree(new_block);
  EXPECT_EQ(first.blocks.size(), 1u);
  EXPECT_EQ(first.Live(), 0);
  EXPECT_EQ(second.blocks.size(), 1u);
  EXPECT_EQ(second.Live(), 0);
  EXPECT_TRUE(Tracker::stop().ok());
  EXPECT_TRUE(Tracker::discard(*id).ok());
}

// A profiler that missed the workers of a running server would miss the leak.
TEST(StartStopTest, ThreadsThatRunAlreadyAreSampledFromTheirNextAllocation) {
  std::atomic<int> phase{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  constexpr int kThreads = 8;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      SamplingFree(SamplingMalloc(8));  // now the thread knows that no tracker samples
      ++ready;
      while (phase == 0) std::this_thread::yield();
      SamplingFree(SamplingMalloc(77));
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  phase = 1;
  for (std::thread& thread : threads) thread.join();
  int seen = 0;
  for (const auto& [serial, block] : ledger.blocks) seen += block.allocation.size_bytes == 77;
  EXPECT_EQ(seen, kThreads);
  EXPECT_TRUE(Tracker::stop().ok());
}

// The same with threads that are allocating: a wake-up must not be lost to a countdown that is
// being decremented.
TEST(StartStopTest, StartReachesThreadsThatAreAllocating) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> stop{false};
    std::atomic<bool> started{false};
    std::atomic<size_t> must_be_reported{0};
    Ledger ledger;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        size_t after_start = 0;
        while (!stop) {
          after_start += started ? 1 : 0;
          SamplingFree(SamplingMalloc(4096));
        }
        must_be_reported += after_start;
      });
    }
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
    started = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(Tracker::stop().ok());
    EXPECT_GE(ledger.blocks.size(), must_be_reported);
  }
}

TEST(StartStopTest, ChangedRateHoldsAtOnce) {
  Ledger rare;
  Ledger often;
  StartOptions options;
  options.seed = 5;
  ASSERT_TRUE(Tracker::start(1e-9, LedgerTracker(&rare), options).ok());
  for (int i = 0; i < 1000; ++i) SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_TRUE(Tracker::start(0.5, LedgerTracker(&often), options).ok());
  for (int i = 0; i < 1000; ++i) SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_NEAR(static_cast<double>(often.Samples()), 1000, BinomialTolerance(2000, 0.5));
}

TEST(StartStopTest, SameSeedSamplesTheSameBlocks) {
  std::vector<std::vector<uint64_t>> sampled(2);
  for (std::vector<uint64_t>& sizes : sampled) {
    Ledger ledger;
    StartOptions options;
    options.seed = 99;
    ASSERT_TRUE(Tracker::start(0.01, LedgerTracker(&ledger), options).ok());
    for (size_t i = 0; i < 5000; ++i) SamplingFree(SamplingMalloc(i));
    ASSERT_TRUE(Tracker::stop().ok());
    for (const auto& [serial, block] : ledger.blocks) sizes.push_back(block.allocation.size_bytes);
  }
  EXPECT_FALSE(sampled[0].empty());
  EXPECT_EQ(sampled[0], sampled[1]);
}

TEST(StartStopTest, SeedsDifferUnlessTheyAreSet) {
  Ledger ledger;
  uint64_t seeds[2];
  for (uint64_t& seed : seeds) {
    const auto id = Tracker::start(0, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    seed = Tracker::statistics(*id)->seed;
    ASSERT_TRUE(Tracker::stop().ok());
  }
  EXPECT_NE(seeds[0], seeds[1]);
}

TEST(StartStopTest, ShortStackKeepsTheInnermostFramesAndSaysSo) {
  Ledger ledger;
  StartOptions options;
  options.callstack_size = 1;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger), options).ok());
  SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(ledger.blocks[0].allocation.callstack.size(), 1u);
  EXPECT_TRUE(ledger.blocks[0].allocation.callstack.cut());
}

TEST(StartStopTest, StackOfSizeZeroIsEmpty) {
  Ledger ledger;
  StartOptions options;
  options.callstack_size = 0;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger), options).ok());
  SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_TRUE(ledger.blocks[0].allocation.callstack.empty());
  EXPECT_FALSE(ledger.blocks[0].allocation.callstack.cut());
}

TEST(StartStopTest, MoreTrackersThanThereIsRoomForAreRefused) {
  Ledger ledger;
  StartOptions options;
  options.concurrent = true;
  std::vector<TrackerId> ids;
  while (true) {
    const auto id = Tracker::start(0.01, LedgerTracker(&ledger), options);
    if (!id.ok()) {
      EXPECT_EQ(id.status().code(), absl::StatusCode::kResourceExhausted);
      break;
    }
    ids.push_back(*id);
    ASSERT_LE(ids.size(), 8u);
  }
  EXPECT_EQ(ids.size(), 8u);
  for (const TrackerId id : ids) EXPECT_TRUE(Tracker::stop(id).ok());
}

// One block, several trackers: each has its own value and its own callbacks.
TEST(StartStopTest, ConcurrentTrackersFollowTheSameBlock) {
  Ledger first;
  Ledger second;
  StartOptions options;
  options.concurrent = true;
  const auto a = Tracker::start(1, LedgerTracker(&first), options);
  const auto b = Tracker::start(1, LedgerTracker(&second), options);
  void* block = SamplingMalloc(8);
  ASSERT_TRUE(Tracker::stop(*a).ok());
  SamplingFree(block);
  EXPECT_EQ(first.Live(), 1);
  EXPECT_EQ(second.Live(), 0);
  ASSERT_TRUE(Tracker::stop(*b).ok());
}

}  // namespace
}  // namespace allomon
