// Live blocks: passed to callbacks at drain, and counted in a snapshot.  Before that, threads that
// allocate while they exit.
#include <pthread.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

pthread_key_t g_key;
__thread int t_round;

// Allocates in the third round of destructors only: the tracker's own destructor is then called
// once at most.
void AllocateInThirdRound(void* value) {
  if (++t_round < 3) {
    pthread_setspecific(g_key, value);
  } else {
    SamplingFree(SamplingMalloc(100));
  }
}

void* JustExit(void* key) {
  pthread_setspecific(g_key, key);
  return nullptr;
}

// Such a thread used to stay in the registry, and the next one had the same address: starting a
// tracker then looped for ever.  The first test of the process, so that its key comes before the
// tracker's own.
TEST(ThreadExitTest, FirstAllocationInALateDestructorLeavesNothingBehind) {
  ASSERT_EQ(pthread_key_create(&g_key, AllocateInThirdRound), 0);
  for (int i = 0; i < 20; ++i) {
    Ledger ledger;
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, JustExit, &g_key), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    ASSERT_TRUE(Tracker::stop().ok());
    EXPECT_EQ(ledger.Live(), 0);
  }
}

struct Fate {
  std::map<uint64_t, int> survived;  // indexed by size
  int deallocs = 0;
  int wrong_values = 0;
};

class FateTracker {
 public:
  explicit FateTracker(Fate* fate) : fate_(fate) {}
  std::optional<uint64_t> alloc_major(const Allocation& allocation) {
    return allocation.size_bytes;
  }
  void dealloc_major(uint64_t) { ++fate_->deallocs; }
  void survive_major(const Allocation& allocation, uint64_t size_bytes) {
    ++fate_->survived[size_bytes];
    fate_->wrong_values += allocation.size_bytes == size_bytes && allocation.rate == 1 ? 0 : 1;
    fate_->wrong_values += allocation.callstack.empty() ? 1 : 0;
  }

 private:
  Fate* fate_;
};

TEST(SurvivorsTest, DrainDeliversEachLiveBlockOnceWithItsValue) {
  Fate fate;
  const auto id = Tracker::start(1, FateTracker(&fate));
  ASSERT_TRUE(id.ok());
  std::vector<void*> blocks;
  for (size_t size = 0; size < 100; ++size) blocks.push_back(SamplingMalloc(size));
  for (size_t size = 0; size < 100; size += 2) SamplingFree(blocks[size]);
  ASSERT_TRUE(Tracker::stop(StopMode::kKeepTracking).ok());
  ASSERT_TRUE(Tracker::drain(*id).ok());
  EXPECT_EQ(fate.deallocs, 50);
  EXPECT_EQ(fate.survived.size(), 50u);
  for (const auto& [size, times] : fate.survived) {
    EXPECT_EQ(size % 2, 1u);
    EXPECT_EQ(times, 1);
  }
  EXPECT_EQ(fate.wrong_values, 0);
  for (size_t size = 1; size < 100; size += 2) SamplingFree(blocks[size]);
  EXPECT_EQ(fate.deallocs, 50);
}

TEST(SurvivorsTest, DrainNeedsAStoppedTracker) {
  Fate fate;
  const auto id = Tracker::start(1, FateTracker(&fate));
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(Tracker::drain(*id).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(Tracker::drain(*id).code(), absl::StatusCode::kNotFound);
}

__attribute__((noinline)) void* AllocateA(size_t size) {
  void* block = SamplingMalloc(size);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((noinline)) void* AllocateB(size_t size) {
  void* block = SamplingMalloc(size);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

TEST(SurvivorsTest, SnapshotGroupsLiveBlocksByStackMostBytesFirst) {
  Fate fate;
  const auto id = Tracker::start(1, FateTracker(&fate));
  ASSERT_TRUE(id.ok());
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) {
    void* small = AllocateA(100);
    void* large = AllocateB(1000);
    blocks.push_back(large);
    SamplingFree(small);
    if (i < 3) blocks.push_back(AllocateA(100));
  }
  const auto snapshot = Tracker::snapshot(*id);
  uint64_t live = 0;
  double bytes = 0;
  for (size_t i = 0; i < snapshot.size(); ++i) {
    const LiveStack& stack = snapshot[i];
    live += stack.sampled_blocks;
    bytes += stack.estimate.bytes.value;
    if (i > 0) {
      EXPECT_GE(snapshot[i - 1].estimate.bytes.value, stack.estimate.bytes.value);
    }
  }
  // The vector's own storage comes from another allocator.
  EXPECT_EQ(live, 13u);
  EXPECT_EQ(bytes, 10 * 1000 + 3 * 100);
  ASSERT_FALSE(snapshot.empty());
  EXPECT_EQ(snapshot[0].sampled_blocks, 10u);
  for (void* block : blocks) SamplingFree(block);
  EXPECT_TRUE(Tracker::snapshot(*id).empty());
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_TRUE(Tracker::snapshot(*id).empty());
}

TEST(SurvivorsTest, SnapshotEstimatesTheLiveHeap) {
  Fate fate;
  StartOptions options;
  options.seed = 23;
  const auto id = Tracker::start(0.01, FateTracker(&fate), options);
  ASSERT_TRUE(id.ok());
  std::vector<void*> blocks;
  for (int i = 0; i < 50000; ++i) blocks.push_back(SamplingMalloc(64));
  for (size_t i = 0; i < blocks.size(); i += 2) SamplingFree(blocks[i]);
  HeapEstimate live;
  for (const LiveStack& stack : Tracker::snapshot(*id)) live.Add(stack.estimate);
  EXPECT_NEAR(live.bytes.value, 25000 * 64, live.bytes.HalfWidth(testing::kSigmas));
  EXPECT_NEAR(live.blocks.value, 25000, live.blocks.HalfWidth(testing::kSigmas));
  for (size_t i = 1; i < blocks.size(); i += 2) SamplingFree(blocks[i]);
  ASSERT_TRUE(Tracker::stop().ok());
}

// The threads' blocks differ in size.  Every block that a snapshot shows must have been allocated,
// however often its entry was reused during the snapshot.
TEST(SurvivorsTest, SnapshotNeverMixesTwoBlocks) {
  struct Keeping {
    std::optional<int> alloc_major(const Allocation&) { return 1; }
  };
  const auto id = Tracker::start(1, Keeping());
  ASSERT_TRUE(id.ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&stop] {
      for (size_t i = 0; !stop; ++i) SamplingFree(SamplingMalloc(i % 2 == 0 ? 64 : 640));
    });
  }
  for (int i = 0; i < 2000; ++i) {
    for (const LiveStack& stack : Tracker::snapshot(*id)) {
      const double n = static_cast<double>(stack.sampled_blocks);
      const double large = (stack.estimate.bytes.value - 64 * n) / (640 - 64);
      ASSERT_EQ(large, static_cast<double>(static_cast<int>(large)));
      ASSERT_LE(large, n);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Tracker::stop().ok());
}

}  // namespace
}  // namespace allomon
