#include "tracker/gates/allocation_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/gates/keep.h"

namespace allomon {
namespace {

void ExpectExact(const AllocationReport& report) { EXPECT_EQ(report.error, ""); }

// checks inv.gates.probe: the probe itself is not counted.
TEST(AllocationScope, EmptyScopeCountsNothing) {
  AllocationScope scope;
  const AllocationReport report = scope.Stop();
  ExpectExact(report);
  EXPECT_EQ(report.allocations, 0u);
  EXPECT_EQ(report.bytes, 0u);
  EXPECT_EQ(report.peak_bytes, 0u);
  EXPECT_TRUE(report.sites.empty());
}

TEST(AllocationScope, BytesAreAsRequested) {
  AllocationScope scope;
  const Block a = Take(1), b = Take(13), c = Take(0), d = Take(100000);
  const AllocationReport report = scope.Stop();
  ExpectExact(report);
  EXPECT_EQ(report.allocations, 4u);
  EXPECT_EQ(report.bytes, 100014u);
  EXPECT_EQ(report.live_blocks, 4u);
  EXPECT_EQ(report.live_bytes, 100014u);
}

TEST(AllocationScope, PeakIsTheMostAtOnce) {
  AllocationScope scope;
  for (size_t size : {100, 300, 200}) Take(size);
  EXPECT_EQ(scope.Read().peak_bytes, 300u);
  const Block a = Take(250);
  Block b = Take(250);
  b.reset();
  EXPECT_EQ(scope.Read().peak_bytes, 500u);
  EXPECT_EQ(scope.Read().live_bytes, 250u);
}

TEST(AllocationScope, ReadingCountsNothing) {
  AllocationScope scope;
  const Block block = Take(8);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scope.Read().allocations, 1u);
}

TEST(AllocationScope, StoppedScopeKeepsItsNumbers) {
  AllocationScope scope;
  Block block = Take(8);
  EXPECT_EQ(scope.Stop().live_blocks, 1u);
  block.reset();
  const Block later = Take(8);
  EXPECT_EQ(scope.Stop().live_blocks, 1u);
  EXPECT_EQ(scope.Read().allocations, 1u);
}

TEST(AllocationScope, BlockFromBeforeThatIsFreedInsideChangesNothing) {
  Block before = Take(1000);
  AllocationScope scope;
  before.reset();
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 0u);
  EXPECT_EQ(report.live_bytes, 0u);
}

TEST(AllocationScope, ReallocIsOneAllocationAndOneFree) {
  AllocationScope scope;
  void* block = Keep(std::malloc(100));
  block = Keep(std::realloc(block, 300));
  AllocationReport report = scope.Read();
  EXPECT_EQ(report.allocations, 2u);
  EXPECT_EQ(report.bytes, 400u);
  EXPECT_EQ(report.peak_bytes, 400u) << "both blocks are there while one is copied";
  EXPECT_EQ(report.live_bytes, 300u);
  std::free(block);
  EXPECT_EQ(scope.Read().live_blocks, 0u);
}

TEST(AllocationScope, ReallocOfABlockFromBeforeIsItsNewSize) {
  void* block = Keep(std::malloc(100));
  AllocationScope scope;
  block = Keep(std::realloc(block, 300));
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 1u);
  EXPECT_EQ(report.live_bytes, 300u);
  std::free(block);
}

TEST(AllocationScope, EveryWayToTakeABlockCounts) {
  AllocationScope scope;
  delete Keep(new int);
  delete[] Keep(new int[10]);
  std::free(Keep(std::calloc(3, 7)));
  std::free(Keep(std::aligned_alloc(64, 128)));
  void* aligned = nullptr;
  EXPECT_EQ(posix_memalign(&aligned, 4096, 10), 0);
  std::free(Keep(aligned));
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 5u);
  EXPECT_EQ(report.bytes, 4u + 40u + 21u + 128u + 10u);
  EXPECT_EQ(report.live_blocks, 0u);
}

TEST(AllocationScope, OtherThreadsDoNotDisturb) {
  std::atomic<bool> done{false};
  std::atomic<int> rounds{0};
  std::thread other([&] {
    while (!done) {
      Take(64);
      ++rounds;
    }
  });
  AllocationScope scope;
  const int before = rounds;
  for (int i = 0; i < 100; ++i) Take(32);
  while (rounds < before + 100) std::this_thread::yield();
  const AllocationReport report = scope.Stop();
  done = true;
  other.join();
  ExpectExact(report);
  EXPECT_EQ(report.allocations, 100u);
  EXPECT_EQ(report.bytes, 3200u);
}

TEST(AllocationScope, BlockFreedOnAnotherThreadIsNotLive) {
  AllocationScope scope;
  std::vector<Block> blocks(10);
  for (Block& block : blocks) block = Take(50);
  {
    const UncountedRegion starting_a_thread_allocates;
    std::thread([&blocks] {
      for (Block& block : blocks) block.reset();
    }).join();
  }
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 11u);
  EXPECT_EQ(report.live_blocks, 1u) << "the vector's own";
}

TEST(AllocationScope, BlockOfAnotherThreadFreedHereChangesNothing) {
  Block block;
  AllocationScope scope;
  {
    const UncountedRegion starting_a_thread_allocates;
    std::thread([&block] { block = Take(50); }).join();
  }
  block.reset();
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 0u);
  EXPECT_EQ(report.live_blocks, 0u);
}

TEST(AllocationScope, ThreadsHaveScopesAtTheSameTime) {
  constexpr int kThreads = 4;
  std::atomic<int> ready{0};
  std::vector<AllocationReport> reports(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      AllocationScope scope;
      ++ready;
      while (ready < kThreads) std::this_thread::yield();  // all scopes are open
      for (int i = 0; i < 1000 * (t + 1); ++i) Take(16);
      reports[t] = scope.Stop();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    ExpectExact(reports[t]);
    EXPECT_EQ(reports[t].allocations, 1000u * (t + 1));
    EXPECT_EQ(reports[t].live_blocks, 0u);
    EXPECT_EQ(reports[t].peak_bytes, 16u);
  }
}

TEST(AllocationScope, OuterScopeCountsWhatTheInnerOneDoesAndNothingOfItsOwn) {
  AllocationScope outer;
  const Block a = Take(10);
  AllocationReport of_inner;
  {
    AllocationScope inner;
    const Block b = Take(20), c = Take(30);
    const UncountedRegion copying;
    of_inner = inner.Stop();
  }
  const Block d = Take(40);
  const AllocationReport of_outer = outer.Stop();
  EXPECT_EQ(of_inner.allocations, 2u);
  EXPECT_EQ(of_inner.bytes, 50u);
  EXPECT_EQ(of_outer.allocations, 4u);
  EXPECT_EQ(of_outer.bytes, 100u);
  EXPECT_EQ(of_outer.peak_bytes, 60u);
  EXPECT_EQ(of_outer.live_bytes, 50u);
}

TEST(AllocationScope, StoppingAnInnerScopeCostsTheOuterOneNothing) {
  AllocationScope outer;
  {
    AllocationScope inner;
    Take(20);
    inner.Stop();
  }
  EXPECT_EQ(outer.Read().allocations, 1u);
  EXPECT_EQ(AllocationsOf([] { Take(1); }).allocations, 1u);
  EXPECT_EQ(outer.Stop().allocations, 2u);
}

TEST(AllocationScope, BlockOutlivesTheInnerScopeAndDiesInTheOuterOne) {
  AllocationScope outer;
  Block block;
  {
    AllocationScope inner;
    block = Take(20);
  }
  EXPECT_EQ(outer.Read().live_blocks, 1u);
  block.reset();
  EXPECT_EQ(outer.Stop().live_blocks, 0u);
}

TEST(AllocationScope, BlockOutlivesAllScopes) {
  Block block;
  {
    AllocationScope scope;
    block = Take(20);
  }
  AllocationScope later;
  block.reset();
  EXPECT_EQ(later.Stop().live_blocks, 0u);
}

// Without the error the scope would stop counting, and every gate would pass.
TEST(AllocationScope, UncountedRegionThatEndsInAnotherScopeIsAnError) {
  auto region = std::make_unique<UncountedRegion>();
  AllocationScope scope;
  region.reset();
  EXPECT_NE(scope.Stop().error.find("UncountedRegion"), std::string::npos);
}

TEST(AllocationScope, UncountedRegionIsNotCountedButItsFreesAre) {
  AllocationScope scope;
  Block block = Take(20);
  Block uncounted;
  {
    const UncountedRegion region;
    uncounted = Take(30);
    block.reset();
  }
  const AllocationReport report = scope.Stop();
  EXPECT_EQ(report.allocations, 1u);
  EXPECT_EQ(report.live_blocks, 0u);
}

TEST(AllocationScope, ScopesEndedInTheWrongOrderSaySo) {
  auto outer = std::make_unique<AllocationScope>();
  auto inner = std::make_unique<AllocationScope>();
  EXPECT_THAT(outer->Stop().error, testing::HasSubstr("after those opened later"));
  outer.reset();
  Take(8);
  EXPECT_EQ(inner->Stop().error, "");
  inner.reset();
  // Afterwards the thread counts as before.
  EXPECT_EQ(AllocationsOf([] { Take(1); }).allocations, 1u);
}

TEST(AllocationScope, ScopeEndedOnAnotherThreadSaysSo) {
  auto scope = std::make_unique<AllocationScope>();
  AllocationReport report;
  std::thread([&] { report = scope->Stop(); }).join();
  EXPECT_THAT(report.error, testing::HasSubstr("on its own thread"));
}

struct Follow {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};

TEST(AllocationScope, CountsBesideASamplingTracker) {
  ASSERT_TRUE(Tracker::start(0.1, Follow{}).ok());
  const AllocationReport report = AllocationsOf([] {
    for (int i = 0; i < 1000; ++i) Take(16);
  });
  ASSERT_TRUE(Tracker::stop().ok());
  ExpectExact(report);
  EXPECT_EQ(report.allocations, 1000u);
  EXPECT_EQ(report.live_blocks, 0u);
}

// checks inv.gates.exact: no numbers without a tracker that saw every block.
TEST(AllocationScope, EightTrackersLeaveNoRoomAndTheReportSaysSo) {
  std::vector<TrackerId> trackers;
  StartOptions options;
  options.concurrent = true;
  for (int i = 0; i < 8; ++i) trackers.push_back(*Tracker::start(1e-6, Follow{}, options));
  const AllocationReport report = AllocationsOf([] { Take(16); });
  for (const TrackerId id : trackers) ASSERT_TRUE(Tracker::stop(id).ok());
  EXPECT_THAT(report.error, testing::HasSubstr("eight trackers"));
}

TEST(AllocationScope, NoTrackerIsLeftBehind) {
  // More scopes, one after the other, than slots for sessions.
  for (int i = 0; i < 100; ++i) ExpectExact(AllocationsOf([] { Take(16); }));
}

__attribute__((noinline)) void TakeTwice() {
  Take(16);
  Take(16);
}

TEST(AllocationScope, SitesNameFunctionAndLine) {
  AllocationScope scope;
  TakeTwice();
  const AllocationReport report = scope.Stop();
  const std::string text = report.DescribeSites(AllocationQuantity::kAllocations);
  EXPECT_THAT(text, testing::HasSubstr("allomon::Take "));
  EXPECT_THAT(text, testing::HasSubstr("TakeTwice "));
  EXPECT_THAT(text, testing::HasSubstr("tests/gates/allocation_scope_test.cc:"));
  EXPECT_THAT(text, testing::HasSubstr("SitesNameFunctionAndLine"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("testing::Test::Run")));
}

TEST(AllocationScope, InlinedLibraryCodeIsNamedWithTheLineThatCalledIt) {
  AllocationScope scope;
  std::vector<int> numbers;
  numbers.push_back(1);
  const int line = __LINE__ - 1;
  Keep(numbers.data());
  const std::string text = scope.Stop().DescribeSites(AllocationQuantity::kAllocations);
  EXPECT_THAT(text,
              testing::HasSubstr("tests/gates/allocation_scope_test.cc:" + std::to_string(line)));
}

__attribute__((noinline)) int Recurse(int depth) {
  if (depth == 0) return 0;
  Take(16);
  const int deeper = Recurse(depth - 1);
  asm volatile("" : : : "memory");  // so that this is a recursion, not a loop
  return deeper + 1;
}

// Each depth has its own call stack; the deepest are cut.
TEST(AllocationScope, DeepRecursionIsCountedThoughItsStacksAreCut) {
  AllocationScope scope;
  EXPECT_EQ(Recurse(2000), 2000);
  EXPECT_EQ(scope.Stop().allocations, 2000u);
}

class WithFixture : public testing::Test {
 protected:
  void SetUp() override { scope_ = std::make_unique<AllocationScope>(); }
  std::unique_ptr<AllocationScope> scope_;
};

TEST_F(WithFixture, ScopeOpenedInSetUpCountsTheBody) {
  const Block block = Take(16);
  EXPECT_EQ(scope_->Stop().allocations, 1u);
}

TEST(AllocationScope, CodeOfTheProgramThatTheFrameworkCallsCounts) {
  testing::MockFunction<void()> mock;
  ON_CALL(mock, Call()).WillByDefault([] { Take(16); });
  EXPECT_CALL(mock, Call()).Times(1);
  AllocationScope scope;
  mock.Call();
  EXPECT_EQ(scope.Stop().allocations, 1u);
}

}  // namespace
}  // namespace allomon
