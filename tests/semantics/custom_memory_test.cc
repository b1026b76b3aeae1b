// Out-of-heap bytes, and arenas, sampled like everything else.
#include "tracker/custom_memory.h"

#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tests/support/statistics.h"
#include "tracker/sampled_resource.h"

namespace allomon {
namespace {

using ::allomon::testing::BinomialTolerance;
using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

class CustomMemoryTest : public ::testing::Test {
 protected:
  void Start(double rate) {
    StartOptions options;
    options.seed = 17;
    ASSERT_TRUE(Tracker::start(rate, LedgerTracker(&ledger_), options).ok());
  }
  void TearDown() override { Tracker::stop().IgnoreError(); }

  Ledger ledger_;
};

TEST_F(CustomMemoryTest, SizeIsRoundedUpToWordsAndHasNoHeader) {
  Start(1);
  const CustomMemory bytes(1000);
  const CustomMemory odd(1001);
  ASSERT_EQ(ledger_.blocks.size(), 2u);
  EXPECT_EQ(ledger_.blocks[0].allocation.n_samples, 125u);
  EXPECT_EQ(ledger_.blocks[0].allocation.source, AllocationSource::kCustom);
  EXPECT_EQ(ledger_.blocks[1].allocation.n_samples, 126u);
  EXPECT_EQ(ledger_.blocks[1].allocation.size_bytes, 1001u);
}

TEST_F(CustomMemoryTest, NoBytesAreNeverSampled) {
  Start(1);
  const CustomMemory nothing(0);
  EXPECT_TRUE(ledger_.blocks.empty());
}

TEST_F(CustomMemoryTest, ReleaseIsTheDeallocAndHappensOnce) {
  Start(1);
  CustomMemory bytes(8);
  EXPECT_EQ(ledger_.Live(), 1);
  bytes.Release();
  bytes.Release();
  EXPECT_EQ(ledger_.Live(), 0);
  EXPECT_FALSE(ledger_.out_of_order);
}

TEST_F(CustomMemoryTest, MovedTokenIsReleasedByItsLastOwner) {
  Start(1);
  {
    CustomMemory first(8);
    CustomMemory second = std::move(first);
    CustomMemory third(16);
    third = std::move(second);
    EXPECT_EQ(ledger_.Live(), 2);
  }
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(CustomMemoryTest, ReleaseOnAnotherThread) {
  Start(1);
  CustomMemory bytes(8);
  std::thread([&bytes] { bytes.Release(); }).join();
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(CustomMemoryTest, HitsFollowTheLawWithoutTheHeader) {
  Start(0.01);
  constexpr int kBlocks = 100000;
  for (int i = 0; i < kBlocks; ++i) CustomMemory(256).Release();
  const double trials = kBlocks * 32.0;
  EXPECT_NEAR(static_cast<double>(ledger_.Samples()), trials * 0.01,
              BinomialTolerance(trials, 0.01));
}

TEST_F(CustomMemoryTest, MallocAndCustomShareOneStreamWithoutDisturbingIt) {
  Start(0.05);
  constexpr int kRounds = 20000;
  for (int i = 0; i < kRounds; ++i) {
    CustomMemory(64).Release();
    SamplingFree(SamplingMalloc(64));
  }
  uint64_t custom = 0;
  for (const auto& [serial, block] : ledger_.blocks) {
    if (block.allocation.source == AllocationSource::kCustom) custom += block.allocation.n_samples;
  }
  EXPECT_NEAR(static_cast<double>(custom), kRounds * 8 * 0.05,
              BinomialTolerance(kRounds * 8.0, 0.05));
  EXPECT_NEAR(static_cast<double>(ledger_.Samples() - custom), kRounds * 9 * 0.05,
              BinomialTolerance(kRounds * 9.0, 0.05));
}

#if __has_include(<memory_resource>)

// Counts the blocks that reach the resource underneath.
class CountingResource : public std::pmr::memory_resource {
 public:
  int live = 0;

 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    ++live;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, size_t bytes, size_t alignment) override {
    --live;
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST_F(CustomMemoryTest, EveryBlockOfAResourceIsFollowedAndPassedOn) {
  Start(1);
  CountingResource upstream;
  {
    SampledResource sampled(&upstream);
    std::pmr::vector<int> numbers(&sampled);
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
    EXPECT_EQ(upstream.live, 1);
    EXPECT_EQ(ledger_.Live(), 1);
  }
  EXPECT_EQ(upstream.live, 0);
  EXPECT_EQ(ledger_.Live(), 0);
  EXPECT_EQ(ledger_.blocks.size(), 11u);  // capacities 1, 2, 4, ..., 1024
}

TEST_F(CustomMemoryTest, BlocksOfAnArenaDieWithIt) {
  Start(1);
  std::pmr::monotonic_buffer_resource arena;
  {
    SampledResource sampled(&arena);
    for (int i = 0; i < 500; ++i) EXPECT_NE(sampled.allocate(40), nullptr);
    EXPECT_EQ(ledger_.Live(), 500);
    sampled.EndAll();
    EXPECT_EQ(ledger_.Live(), 0);
    EXPECT_NE(sampled.allocate(40), nullptr);
    EXPECT_EQ(ledger_.Live(), 1);
  }
  EXPECT_EQ(ledger_.Live(), 0);
}

// Addresses that are freed and reused must not fill the index with tombstones.
TEST_F(CustomMemoryTest, IndexSurvivesChurn) {
  Start(0.2);
  SampledResource sampled;
  std::vector<std::pair<void*, size_t>> kept(300);
  for (size_t i = 0; i < 200000; ++i) {
    auto& [block, size] = kept[i * 7919 % kept.size()];
    if (block != nullptr) sampled.deallocate(block, size);
    size = i % 100 + 1;
    block = sampled.allocate(size);
  }
  for (const auto& [block, size] : kept) {
    if (block != nullptr) sampled.deallocate(block, size);
  }
  EXPECT_EQ(ledger_.Live(), 0);
  EXPECT_FALSE(ledger_.out_of_order);
}

#endif  // std::pmr

}  // namespace
}  // namespace allomon
