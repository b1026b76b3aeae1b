// alloc and dealloc of native blocks: each once, in order, whatever happens to the block.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

// Every block is sampled; no stack, so that the ledger itself stays quick.
class LifecycleTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger_)).ok()); }
  void TearDown() override { Tracker::stop().IgnoreError(); }

  Ledger ledger_;
};

TEST_F(LifecycleTest, BlockIsReportedAsRequested) {
  SamplingFree(SamplingMalloc(100));
  ASSERT_EQ(ledger_.blocks.size(), 1u);
  const Allocation& allocation = ledger_.blocks[0].allocation;
  EXPECT_EQ(allocation.size_bytes, 100u);
  EXPECT_EQ(allocation.size_words, 13u);
  EXPECT_EQ(allocation.n_samples, 14u);
  EXPECT_EQ(allocation.source, AllocationSource::kMalloc);
  EXPECT_EQ(allocation.rate, 1);
  EXPECT_EQ(ledger_.blocks[0].deallocs, 1);
}

TEST_F(LifecycleTest, SizeZeroIsSampledByItsHeader) {
  void* block = SamplingMalloc(0);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(ledger_.blocks[0].allocation.n_samples, 1u);
  SamplingFree(block);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(LifecycleTest, LiveBlockHasNoDealloc) {
  void* block = SamplingMalloc(10);
  EXPECT_EQ(ledger_.Live(), 1);
  SamplingFree(block);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(LifecycleTest, FreeOnAnotherThreadIsSeenAtOnce) {
  void* block = SamplingMalloc(64);
  std::thread([block] { SamplingFree(block); }).join();
  EXPECT_EQ(ledger_.blocks[0].deallocs, 1);
}

TEST_F(LifecycleTest, BlockOutlivesTheThreadThatMadeIt) {
  void* block = nullptr;
  std::thread([&block] { block = SamplingMalloc(64); }).join();
  const int live = ledger_.Live();
  SamplingFree(block);
  EXPECT_EQ(ledger_.Live(), live - 1);
}

TEST_F(LifecycleTest, GrownBlockEndsAndItsSuccessorBegins) {
  char* block = static_cast<char*>(SamplingMalloc(16));
  memcpy(block, "0123456789abcde", 16);
  char* grown = static_cast<char*>(SamplingRealloc(block, 5000));
  EXPECT_STREQ(grown, "0123456789abcde");
  ASSERT_EQ(ledger_.blocks.size(), 2u);
  EXPECT_EQ(ledger_.blocks[0].deallocs, 1);
  EXPECT_EQ(ledger_.blocks[1].allocation.size_bytes, 5000u);
  SamplingFree(grown);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(LifecycleTest, ShrunkBlockKeepsItsContents) {
  char* block = static_cast<char*>(SamplingMalloc(100000));
  memset(block, 'x', 100000);
  char* shrunk = static_cast<char*>(SamplingRealloc(block, 10));
  EXPECT_EQ(std::string(shrunk, 10), "xxxxxxxxxx");
  SamplingFree(shrunk);
  EXPECT_EQ(ledger_.blocks.size(), 2u);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(LifecycleTest, ReallocThatFailsLeavesTheBlockTracked) {
  void* block = SamplingMalloc(16);
  EXPECT_EQ(SamplingRealloc(block, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(ledger_.blocks[0].deallocs, 0);
  SamplingFree(block);
  EXPECT_EQ(ledger_.blocks[0].deallocs, 1);
}

TEST_F(LifecycleTest, AlignedBlocksAreAlignedAndFollowed) {
  for (size_t alignment = 8; alignment <= (size_t{4} << 20); alignment *= 2) {
    for (const size_t size : {size_t{1}, size_t{100}, size_t{70000}}) {
      void* block = SamplingAlignedAlloc(alignment, size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      memset(block, 1, size);
      SamplingFree(block);
    }
  }
  EXPECT_EQ(ledger_.blocks.size(), 20u * 3);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(LifecycleTest, ReusedSlotOfCallocIsZero) {
  for (const size_t size : {size_t{24}, size_t{4096}, size_t{200000}}) {
    for (int round = 0; round < 3; ++round) {
      unsigned char* block = static_cast<unsigned char*>(SamplingCalloc(1, size));
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(block[i], 0) << size;
      memset(block, 0xff, size);
      SamplingFree(block);
    }
  }
}

TEST_F(LifecycleTest, UsableSizeCoversTheRequest) {
  for (size_t size = 0; size < 300000; size = size * 5 / 4 + 1) {
    void* block = SamplingMalloc(size);
    EXPECT_GE(SamplingUsableSize(block), size);
    memset(block, 1, SamplingUsableSize(block));
    SamplingFree(block);
  }
}

TEST_F(LifecycleTest, SecondFreeOfASampledBlockIsIgnoredAndCounted) {
  const uint64_t before = AllocatorDoubleFrees();
  void* block = SamplingMalloc(48);
  SamplingFree(block);
  SamplingFree(block);
  EXPECT_EQ(AllocatorDoubleFrees(), before + 1);
  EXPECT_EQ(ledger_.blocks[0].deallocs, 1);
}

TEST_F(LifecycleTest, LiveBlocksDoNotOverlap) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t i = 0; i < 3000; ++i) {
    const size_t size = (i * 37) % 2000;
    unsigned char* block = static_cast<unsigned char*>(SamplingMalloc(size));
    memset(block, static_cast<int>(i), size);
    blocks.emplace_back(block, size);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, size] = blocks[i];
    for (size_t k = 0; k < size; ++k) ASSERT_EQ(block[k], static_cast<unsigned char>(i));
    SamplingFree(block);
  }
  EXPECT_EQ(ledger_.Live(), 0);
}

// Each thread frees blocks that another one allocated, all at once.
TEST_F(LifecycleTest, ConcurrentAllocationAndRemoteFreeLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kBlocks = 2000;
  std::vector<std::atomic<void*>> mailbox(kThreads * kBlocks);
  for (auto& slot : mailbox) slot = nullptr;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&mailbox, t] {
      const size_t first = static_cast<size_t>(t) * kBlocks;
      const size_t other = static_cast<size_t>((t + 1) % kThreads) * kBlocks;
      for (size_t i = 0; i < kBlocks; ++i) {
        mailbox[first + i] = SamplingMalloc(i % 100);
        if (void* block = mailbox[other + i].exchange(nullptr)) SamplingFree(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : mailbox) SamplingFree(slot);
  int reported = 0;
  for (const auto& [serial, block] : ledger_.blocks) {
    ++reported;
    EXPECT_EQ(block.deallocs, 1);
  }
  EXPECT_EQ(reported, kThreads * kBlocks);
  EXPECT_FALSE(ledger_.out_of_order);
}

// The stack begins in the caller of the allocator.
__attribute__((noinline)) void* AllocateHere() {
  void* block = SamplingMalloc(8);
  asm volatile("" : : "r"(block) : "memory");  // not a tail call
  return block;
}

TEST_F(LifecycleTest, StackBeginsWithTheCaller) {
  SamplingFree(AllocateHere());
  const Callstack& stack = ledger_.blocks[0].allocation.callstack;
  ASSERT_GE(stack.size(), 2u);
  const uintptr_t here = reinterpret_cast<uintptr_t>(&AllocateHere);
  EXPECT_GE(stack[0], here);
  EXPECT_LT(stack[0], here + 256);
  EXPECT_FALSE(stack.cut());
}

}  // namespace
}  // namespace allomon
