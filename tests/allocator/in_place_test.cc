// Followed blocks that stay on their ordinary pages.
#include "allocator/in_place.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/range/sampled_range.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

std::atomic<int> g_born{0};
std::atomic<int> g_died{0};
thread_local bool t_ends_in_alloc;
thread_local bool t_ends_in_dealloc;

struct Counting {
  std::optional<int> alloc_major(const Allocation& /*allocation*/) {
    if (t_ends_in_alloc) pthread_exit(nullptr);
    return g_born.fetch_add(1);
  }
  void dealloc_major(int /*number*/) {
    g_died.fetch_add(1);
    if (t_ends_in_dealloc) pthread_exit(nullptr);
  }
};

struct Declining {
  std::optional<int> alloc_major(const Allocation& /*allocation*/) {
    g_born.fetch_add(1);
    return std::nullopt;
  }
  void dealloc_major(int /*number*/) { g_died.fetch_add(1); }
};

template <typename Callbacks = Counting>
void Start(double rate, Callbacks callbacks = {}) {
  g_born = g_died = 0;
  StartOptions options;
  options.seed = 1;
  ASSERT_TRUE(Tracker::start(rate, callbacks, options).ok());
}

class InPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(KeepSamplesInPlace(1));
    Start(1);
  }
  void TearDown() override {
    (void)Tracker::stop();
    KeepSamplesInPlace(0);
  }
};

bool IsInRange(const void* block) { return internal::TheSampledRange().Contains(block); }

// Returns the number of blocks that were placed since `before`.
uint64_t PlacedSince(const InPlaceStatistics& before) {
  return ReadInPlaceStatistics().placed - before.placed;
}

using testing::InChild;

// checks inv.in_place.once
TEST_F(InPlaceTest, FreesOfOneThread) {
  for (const size_t bytes : {1, 64, 1000, 100'000, 9'000'000}) {
    const InPlaceStatistics before = ReadInPlaceStatistics();
    void* const block = SamplingMalloc(bytes);
    EXPECT_FALSE(IsInRange(block)) << bytes;
    EXPECT_EQ(PlacedSince(before), 1u) << bytes;
    memset(block, 1, bytes);
    SamplingFree(block);
  }
  EXPECT_EQ(g_born, 5);
  EXPECT_EQ(g_died, 5);
}

// Neighbours are freed by the same slow path, and are nobody's business.
TEST_F(InPlaceTest, NeighboursThatAreNotFollowedAreJustFreed) {
  ASSERT_TRUE(Tracker::stop().ok());
  std::vector<void*> plain;
  for (int i = 0; i < 50; ++i) plain.push_back(SamplingMalloc(96));
  Start(1);
  void* const followed = SamplingMalloc(96);
  ASSERT_TRUE(Tracker::stop().ok());
  for (int i = 0; i < 50; ++i) plain.push_back(SamplingMalloc(96));
  Start(1e-9);
  const uint64_t double_frees = AllocatorDoubleFrees();
  for (void* block : plain) SamplingFree(block);
  EXPECT_EQ(g_died, 0);
  EXPECT_EQ(AllocatorDoubleFrees(), double_frees);
  SamplingFree(followed);
}

// Pages have blocks in place, aligned ones that begin inside of a cell, and are full at times.
TEST_F(InPlaceTest, MixedPagesHandOutEachByteOnce) {
  ASSERT_TRUE(Tracker::stop().ok());
  Start(0.01);
  struct Filled {
    unsigned char* bytes = nullptr;
    size_t size = 0;
    unsigned char value = 0;
  };
  std::vector<Filled> all(3000);
  uint64_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    Filled& it = all[(random >> 33) % all.size()];
    for (size_t k = 0; k < it.size; ++k) ASSERT_EQ(it.bytes[k], it.value) << i;
    if (i % 512 == 0) {
      std::thread([&] { SamplingFree(it.bytes); }).join();
    } else {
      SamplingFree(it.bytes);
    }
    it.size = i % 4 == 0 ? 72 : 100 + i % 45;  // an aligned one takes a cell of 144 bytes, too
    it.bytes = static_cast<unsigned char*>(i % 4 == 0 ? SamplingAlignedAlloc(64, it.size)
                                                      : SamplingMalloc(it.size));
    it.value = static_cast<unsigned char>(i);
    memset(it.bytes, it.value, it.size);
  }
  for (const Filled& it : all) SamplingFree(it.bytes);
  EXPECT_GT(g_born, 1000);
  EXPECT_EQ(g_died, g_born);
}

TEST_F(InPlaceTest, LargestBlocksAreFollowedElsewhere) {
  const InPlaceStatistics before = ReadInPlaceStatistics();
  void* const block = SamplingMalloc(size_t{40} << 20);
  EXPECT_TRUE(IsInRange(block));
  EXPECT_EQ(PlacedSince(before), 0u);
  EXPECT_EQ(ReadInPlaceStatistics().chosen, before.chosen + 1);
  SamplingFree(block);
  EXPECT_EQ(g_born, 1);
  EXPECT_EQ(g_died, 1);
}

TEST_F(InPlaceTest, FreesOfAnotherThreadBeforeAndAfterTheFirstHasEnded) {
  void* blocks[200];
  std::atomic<bool> allocated{false};
  std::atomic<bool> freed{false};
  std::thread first([&] {
    for (void*& block : blocks) block = SamplingMalloc(48);
    allocated = true;
    while (!freed) std::this_thread::yield();
  });
  while (!allocated) std::this_thread::yield();
  const int died = g_died;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) SamplingFree(blocks[i]);
  }).join();
  EXPECT_EQ(g_died, died + 100);
  freed = true;
  first.join();
  std::thread([&] {
    for (int i = 100; i < 200; ++i) SamplingFree(blocks[i]);
  }).join();
  EXPECT_EQ(g_died, died + 200);
}

// A page that is full is in another list, and its flags are two.
TEST_F(InPlaceTest, PagesThatFillUp) {
  std::vector<void*> blocks;
  for (int i = 0; i < 5000; ++i) blocks.push_back(SamplingMalloc(512));
  for (size_t i = 0; i < blocks.size(); i += 2) SamplingFree(blocks[i]);
  for (size_t i = 1; i < blocks.size(); i += 2) SamplingFree(blocks[i]);
  EXPECT_EQ(g_born, 5000);
  EXPECT_EQ(g_died, 5000);
}

TEST_F(InPlaceTest, ReallocEndsOneBlockAndBeginsAnother) {
  char* block = static_cast<char*>(SamplingMalloc(64));
  memset(block, 7, 64);
  int reallocs = 0;
  for (const size_t bytes : {60, 64, 4000, 10, 200'000, 20'000'000, 30}) {
    block = static_cast<char*>(SamplingRealloc(block, bytes));
    ++reallocs;
    for (int i = 0; i < 10; ++i) ASSERT_EQ(block[i], 7) << bytes;
    EXPECT_EQ(g_born, 1 + reallocs);
    EXPECT_EQ(g_died, reallocs);
  }
  SamplingFree(block);
  EXPECT_EQ(g_died, 1 + reallocs);
}

// The successor is not sampled: the block moves away from the followed one all the same.
TEST_F(InPlaceTest, ReallocToABlockThatIsNotSampled) {
  for (const size_t bytes : {60, 4000, 20'000'000}) {
    char* const block = static_cast<char*>(SamplingMalloc(64));
    EXPECT_FALSE(IsInRange(block));
    strcpy(block, "text");
    ASSERT_TRUE(Tracker::stop().ok());
    char* const other = static_cast<char*>(SamplingRealloc(block, bytes));
    EXPECT_NE(other, block);
    EXPECT_STREQ(other, "text");
    SamplingFree(other);
    Start(1);
  }
}

TEST_F(InPlaceTest, ReallocThatFailsLeavesTheBlock) {
  char* const block = static_cast<char*>(SamplingMalloc(64));
  strcpy(block, "text");
  EXPECT_EQ(SamplingRealloc(block, SIZE_MAX / 2), nullptr);
  EXPECT_STREQ(block, "text");
  EXPECT_EQ(g_died, 0);
  SamplingFree(block);
  EXPECT_EQ(g_died, 1);
}

TEST_F(InPlaceTest, CallocIsZeroed) {
  for (const size_t bytes : {8, 200, 3000, 300'000}) {
    for (int turn = 0; turn < 3; ++turn) {
      char* const block = static_cast<char*>(SamplingCalloc(1, bytes));
      EXPECT_FALSE(IsInRange(block));
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(block[i], 0) << bytes;
      memset(block, 0xff, bytes);
      SamplingFree(block);
    }
  }
  EXPECT_EQ(g_born, 12);
  EXPECT_EQ(g_died, 12);
}

TEST_F(InPlaceTest, UsableBytesBelongToTheBlock) {
  for (const size_t bytes : {1, 24, 1000, 70'000}) {
    char* const block = static_cast<char*>(SamplingMalloc(bytes));
    char* const next = static_cast<char*>(SamplingMalloc(bytes));
    const size_t usable = SamplingUsableSize(block);
    EXPECT_GE(usable, bytes);
    memset(next, 5, bytes);
    memset(block, 3, usable);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(next[i], 5);
    SamplingFree(block);
    SamplingFree(next);
  }
}

TEST_F(InPlaceTest, AlignedBlocks) {
  int blocks = 0;
  for (size_t alignment = 16; alignment <= size_t{8} << 20; alignment *= 2) {
    for (const size_t bytes : {40, 5000}) {
      void* const block = SamplingAlignedAlloc(alignment, bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      EXPECT_GE(SamplingUsableSize(block), bytes);
      memset(block, 1, bytes);
      SamplingFree(block);
      ++blocks;
    }
  }
  EXPECT_EQ(g_born, blocks);
  EXPECT_EQ(g_died, blocks);
}

TEST_F(InPlaceTest, BlocksThatNobodyFollowsAreOrdinary) {
  ASSERT_TRUE(Tracker::stop().ok());
  Start(1, Declining{});
  for (int i = 0; i < 100; ++i) {
    void* const block = SamplingMalloc(64);
    SamplingFree(block);
  }
  EXPECT_EQ(g_born, 100);
  EXPECT_EQ(g_died, 0);
}

TEST_F(InPlaceTest, BlocksOutliveTheirSession) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(SamplingMalloc(64));
  ASSERT_TRUE(Tracker::stop().ok());
  KeepSamplesInPlace(0);
  Start(1);  // takes handles again
  void* const other = SamplingMalloc(64);
  EXPECT_TRUE(IsInRange(other));
  for (void* block : blocks) SamplingFree(block);
  EXPECT_EQ(g_died, 0);
  SamplingFree(other);
  EXPECT_EQ(g_died, 1);
  // Nor is the table fuller than before.
  KeepSamplesInPlace(1);
  for (void*& block : blocks) {
    block = SamplingMalloc(64);
    EXPECT_FALSE(IsInRange(block));
  }
  for (void* block : blocks) SamplingFree(block);
  EXPECT_EQ(g_died, 1001);
}

TEST_F(InPlaceTest, SecondFreeIsFoundUntilTheAddressIsHandedOutAgain) {
  void* const keeps_the_page = SamplingMalloc(80);
  void* const block = SamplingMalloc(80);
  SamplingFree(block);
  const uint64_t before = AllocatorDoubleFrees();
  SamplingFree(block);
  SamplingFree(block);
  EXPECT_EQ(AllocatorDoubleFrees(), before + 2);
  EXPECT_EQ(g_died, 1);
  // The lists have the block once.
  ASSERT_TRUE(Tracker::stop().ok());
  std::set<void*> again;
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(again.insert(SamplingMalloc(80)).second);
  EXPECT_EQ(again.count(block), 1u);
  // It is an ordinary block now.
  for (void* each : again) SamplingFree(each);
  EXPECT_EQ(AllocatorDoubleFrees(), before + 2);
  SamplingFree(keeps_the_page);
}

TEST_F(InPlaceTest, SecondFreeByTheOwnerAfterAnotherThreadsFree) {
  void* const keeps_the_page = SamplingMalloc(80);
  void* const block = SamplingAlignedAlloc(32, 80);
  std::thread([&] { SamplingFree(block); }).join();
  const uint64_t before = AllocatorDoubleFrees();
  SamplingFree(block);
  EXPECT_EQ(AllocatorDoubleFrees(), before + 1);
  SamplingFree(keeps_the_page);
}

// What does not fit into the table lies in the range.
TEST_F(InPlaceTest, FullTable) {
  constexpr int kBlocks = 60'000;
  const InPlaceStatistics before = ReadInPlaceStatistics();
  std::vector<void*> blocks;
  int in_range = 0;
  for (int i = 0; i < kBlocks; ++i) {
    blocks.push_back(SamplingMalloc(16));
    in_range += IsInRange(blocks.back()) ? 1 : 0;
  }
  EXPECT_GT(in_range, kBlocks / 4);
  EXPECT_EQ(PlacedSince(before), static_cast<uint64_t>(kBlocks - in_range));
  EXPECT_EQ(ReadInPlaceStatistics().chosen, before.chosen + kBlocks);
  for (void* block : blocks) SamplingFree(block);
  EXPECT_EQ(g_born, kBlocks);
  EXPECT_EQ(g_died, kBlocks);
  void* const again = SamplingMalloc(16);
  EXPECT_FALSE(IsInRange(again));
  SamplingFree(again);
}

TEST_F(InPlaceTest, ChildOfAFork) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(SamplingMalloc(64));
  InChild([&] {
    for (int i = 0; i < 50; ++i) SamplingFree(blocks[i]);
    EXPECT_EQ(g_died, 50);
    void* const own = SamplingMalloc(64);
    EXPECT_EQ(g_born, 101);
    EXPECT_FALSE(IsInRange(own));
    blocks[99] = SamplingRealloc(blocks[99], 1000);
    SamplingFree(own);
    EXPECT_EQ(g_died, 52);
    const uint64_t before = AllocatorDoubleFrees();
    SamplingFree(own);
    EXPECT_EQ(AllocatorDoubleFrees(), before + 1);
  });
  EXPECT_EQ(g_died, 0);
  for (void* block : blocks) SamplingFree(block);
  EXPECT_EQ(g_died, 100);
}

// A thread that ends itself in a callback has freed the block.
TEST_F(InPlaceTest, CallbacksThatEndTheirThread) {
  static void* block;
  const auto run = [](void* (*body)(void*)) {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
  };
  block = SamplingMalloc(333);
  run([](void*) -> void* {
    t_ends_in_dealloc = true;
    SamplingFree(block);
    ADD_FAILURE() << "the thread goes on";
    return nullptr;
  });
  const uint64_t before = AllocatorDoubleFrees();
  SamplingFree(block);  // is in the page's list
  EXPECT_EQ(AllocatorDoubleFrees(), before + 1);

  const InPlaceStatistics placed = ReadInPlaceStatistics();
  run([](void*) -> void* {
    t_ends_in_alloc = true;
    block = SamplingMalloc(333);
    ADD_FAILURE() << "the thread goes on";
    return nullptr;
  });
  EXPECT_EQ(PlacedSince(placed), 1u);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(InPlaceTest, OutOfMemory) {
  InChild([] {
    std::vector<void*> blocks;
    blocks.reserve(1 << 16);
    rlimit limit = {size_t{300} << 20, size_t{300} << 20};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    void* block = nullptr;
    errno = 0;
    while ((block = SamplingMalloc(50'000)) != nullptr) blocks.push_back(block);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GT(blocks.size(), 100u);
    // mimalloc 3 keeps parts of its arenas for larger blocks than those.
    while ((block = SamplingMalloc(10'000'000)) != nullptr) blocks.push_back(block);
    EXPECT_EQ(SamplingRealloc(blocks[0], 10'000'000), nullptr);
    for (void* each : blocks) SamplingFree(each);
    EXPECT_EQ(g_died, g_born);
    EXPECT_GT(g_born, 100);
  });
}
#endif

// Returns the numbers of the sampled blocks among many.
std::vector<int> SampledOf(uint32_t one_in, std::vector<bool>* in_place = nullptr,
                           uint64_t coin_seed = 5) {
  KeepSamplesInPlace(one_in, coin_seed);
  std::vector<int> sampled;
  std::thread([&] {
    Start(0.01);
    for (int i = 0; i < 100'000; ++i) {
      const int born = g_born;
      const uint64_t placed = ReadInPlaceStatistics().placed;
      SamplingFree(SamplingMalloc(static_cast<size_t>(8 + i % 50)));
      if (g_born == born) continue;
      sampled.push_back(i);
      if (in_place != nullptr) in_place->push_back(ReadInPlaceStatistics().placed != placed);
    }
    EXPECT_EQ(g_born, g_died);
    (void)Tracker::stop();
  }).join();
  KeepSamplesInPlace(0);
  return sampled;
}

// Which blocks are sampled, and so each sum of estimates, is the same with and without: checks
// inv.in_place.law
TEST(InPlaceLawTest, CoinsDoNotMoveTheSamples) {
  const std::vector<int> none = SampledOf(0);
  EXPECT_GT(none.size(), 1000u);
  EXPECT_EQ(SampledOf(1), none);
  EXPECT_EQ(SampledOf(16), none);
}

TEST(InPlaceLawTest, OneInSoManyStays) {
  std::vector<bool> coins;
  SampledOf(4, &coins);
  double heads = 0;
  double pairs = 0;
  for (size_t i = 0; i < coins.size(); ++i) {
    heads += coins[i] ? 1 : 0;
    pairs += i > 0 && coins[i - 1] && coins[i] ? 1 : 0;
  }
  const double n = static_cast<double>(coins.size());
  EXPECT_NEAR(heads, n / 4, testing::kSigmas * std::sqrt(n * 3 / 16));
  EXPECT_NEAR(pairs, n / 16, testing::kSigmas * std::sqrt(n * 2.5 / 16));
  std::vector<bool> same;
  SampledOf(4, &same);
  EXPECT_EQ(same, coins);
  std::vector<bool> other;
  SampledOf(4, &other, 6);
  EXPECT_NE(other, coins);
}

}  // namespace
}  // namespace allomon
