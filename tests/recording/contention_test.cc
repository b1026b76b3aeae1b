// Many threads in one recording at once: nothing is counted twice or lost, whichever thread frees a
// block.
#include <atomic>
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon {
namespace {

using recording::Process;
using recording::Sum;
using testing::EveryBlock;
using testing::Recorded;

constexpr int kThreads = 8;
constexpr int kRounds = 3000;

// Slots through which all threads exchange blocks, so that most blocks are freed by another thread.
struct Exchange {
  std::atomic<void*> slots[64] = {};

  void Put(size_t slot, void* block) {
    SamplingFree(slots[slot % 64].exchange(block, std::memory_order_acq_rel));
  }
  void FreeAll() {
    for (std::atomic<void*>& slot : slots) SamplingFree(slot.exchange(nullptr));
  }
};

void Work(int thread, Exchange* exchange) {
  unsigned seed = static_cast<unsigned>(thread);
  for (int i = 0; i < kRounds; ++i) {
    const auto random = static_cast<unsigned>(rand_r(&seed));
    // All threads have the same stacks and sizes, so that rows are common.
    exchange->Put(random >> 8, SamplingMalloc(16 + random % 4 * 16));
  }
}

TEST(ContentionTest, BlocksThatOtherThreadsFreeAreCountedOnce) {
  const Recorded recorded(EveryBlock("contention"));
  Exchange exchange;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Work, i, &exchange);
  for (std::thread& thread : threads) thread.join();
  exchange.FreeAll();
  const Process process = recorded.ReadProcess();
  EXPECT_EQ(process.record.allocated.samples, uint64_t{kThreads} * kRounds);
  EXPECT_EQ(process.record.live.samples, 0u);
  EXPECT_EQ(process.record.live.bytes, 0);
  EXPECT_EQ(process.damaged, 0u);
  Sum ends;
  for (const Process::Event& event : process.events) {
    if (event.kind != 0) ends.Add(event.sum);
  }
  EXPECT_EQ(ends.samples, uint64_t{kThreads} * kRounds);
  EXPECT_EQ(ends.bytes, process.record.allocated.bytes);
  Sum by_threads, live_by_threads;
  for (const Process::Thread& thread : process.threads) {
    by_threads.Add(thread.allocated);
    live_by_threads.Add(thread.live);
  }
  EXPECT_EQ(by_threads.bytes, process.record.allocated.bytes);
  EXPECT_EQ(live_by_threads.bytes, 0);
  for (const recording::LiveBlock& block : process.live) EXPECT_EQ(block.row, 0u);
  EXPECT_EQ(recorded.Statistics().samples, uint64_t{kThreads} * kRounds);
}

// The peak is the blocks that all threads hold at once, to within a block for each thread.
TEST(ContentionTest, PeakOfThreadsThatHoldBlocksTogether) {
  constexpr int kHeld = 500;
  const Recorded recorded(EveryBlock("together"));
  std::atomic<int> holding{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&holding] {
      std::vector<void*> blocks;
      for (int k = 0; k < kHeld; ++k) blocks.push_back(SamplingMalloc(100));
      holding.fetch_add(1);
      while (holding.load() < kThreads) std::this_thread::yield();
      for (void* block : blocks) SamplingFree(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Process process = recorded.ReadProcess();
  EXPECT_GE(process.record.peak.bytes, (kThreads * kHeld - kThreads) * 100);
  EXPECT_LE(process.record.peak.bytes, (kThreads * kHeld + kThreads) * 100);
}

// Threads start and end while others free their blocks and query their words.
TEST(ContentionTest, ThreadsEndWhileTheirBlocksAreFreed) {
  const Recorded recorded(EveryBlock("ends"));
  Exchange exchange;
  std::atomic<bool> stop{false};
  std::thread freer([&] {
    for (size_t i = 0; !stop.load(); ++i) exchange.Put(i, nullptr);
  });
  for (int i = 0; i < 300; ++i) {
    std::thread([&, i] {
      for (size_t k = 0; k < 20; ++k) {
        exchange.Put(static_cast<size_t>(i) + k, SamplingMalloc(48));
      }
    }).join();
  }
  stop.store(true);
  freer.join();
  exchange.FreeAll();
  const Process process = recorded.ReadProcess();
  EXPECT_EQ(process.record.allocated.samples, 6000u);
  EXPECT_EQ(process.record.live.samples, 0u);
}

}  // namespace
}  // namespace allomon
