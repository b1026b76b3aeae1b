// Profiles of a managed heap by function.  Bytes are charged where functions begin and end.  They
// must add up to the heap's own counters, whatever happens in between.
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/mutator.h"
#include "tests/runtime/managed_profile_case.h"

namespace allomon::gc {
namespace {

using testing::Attributed;
using testing::CountOf;

TEST_F(ManagedProfileTest, EachFunctionHasWhatItAllocated) {
  Start();
  for (int i = 0; i < 1000; ++i) Small();
  make<Cell>(0, nullptr);
  const NamedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 2000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 2000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
}

// The profile uses clocks, not samples, so the allocations take no slow path.
TEST_F(ManagedProfileTest, NothingIsSampledForIt) {
  Start();
  make<Cell>(0, nullptr);
  const uintptr_t limit = internal::CurrentMutator().uncut_limit;
  make<Cell>(0, nullptr);
  EXPECT_GE(limit - internal::t_window.cursor, 1000 * kCellBytes);
  StopAndCompare();
}

TEST_F(ManagedProfileTest, LargeObjects) {
  Start();
  {
    const ManagedCall call(kLarge);
    make_bytes(1 << 20);
  }
  const NamedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "large"), (1 << 20) + 16);  // header and length
}

// Out-of-heap bytes are not in the heap's counters.
TEST_F(ManagedProfileTest, OutOfHeapBytes) {
  Start();
  {
    const ManagedCall call(kLarge);
    make_custom(nullptr, 1000, [](void*) {});
  }
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(Bytes(Attributed(data_), "large"), 24 + 1000);
}

TEST_F(ManagedProfileTest, StartedAndStoppedAgainAndAgain) {
  for (int i = 0; i < 10; ++i) {
    const ManagedCall call(kOpen);
    Start();
    Small();
    make<Cell>(0, nullptr);
    ASSERT_TRUE(Profile::Stop().ok());
  }
  const NamedProfile profile = Attributed(data_);
  EXPECT_EQ(Bytes(profile, "open"), 10 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), 0);
}

// After a stop, bytes are charged to no function, not even to one on the stack whose clock is read.
TEST_F(ManagedProfileTest, WhatIsAllocatedAfterAStopIsNobodys) {
  const ProfileData other = Profile::Malloc().value();
  Start(ProfileStyle::kStack);
  Small();
  const ManagedCall call(kOpen);
  make<Cell>(0, nullptr);
  ASSERT_TRUE(Profile::Stop().ok());
  make<Cell>(0, nullptr);
  EXPECT_TRUE(Profile::WithData(other, [] {}).ok());
  const NamedProfile profile = Attributed(data_);
  EXPECT_TRUE(profile.mlmon.total == 5 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").current == kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").stack == kCellBytes);
  EXPECT_TRUE(Profile::Free(other).ok());
}

TEST_F(ManagedProfileTest, UnitsOfData) {
  const ProfileData other = Profile::Malloc().value();
  Start();
  {
    const ManagedCall call(kOpen);
    make<Cell>(0, nullptr);
    EXPECT_TRUE(Profile::WithData(other, [] { Small(); }).ok());
    make<Cell>(0, nullptr);
  }
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile inner = Attributed(other);
  EXPECT_TRUE(inner.mlmon.total == 4 * kCellBytes);
  EXPECT_EQ(Bytes(inner, "small"), 2 * kCellBytes);
  const NamedProfile outer = Attributed(data_);
  EXPECT_TRUE(outer.mlmon.total == 2 * kCellBytes);
  EXPECT_EQ(Bytes(outer, "open"), 2 * kCellBytes);
  EXPECT_TRUE(Profile::Free(other).ok());
}

TEST_F(ManagedProfileTest, WrittenWhileItRuns) {
  Start();
  const ManagedCall call(kOpen);
  make<Cell>(0, nullptr);
  EXPECT_EQ(Bytes(Attributed(data_), "open"), kCellBytes);
  make<Cell>(0, nullptr);
  EXPECT_EQ(Bytes(Attributed(data_), "open"), 2 * kCellBytes);
  StopAndCompare();
}

// Threads that end, threads in native code when the profile stops, and collections by whichever
// thread starts one.
TEST_F(ManagedProfileTest, Threads) {
  EXPECT_TRUE(unit_.Restore().ok());  // threads begin in the default unit
  Start();
  constexpr int kThreads = 8;
  std::atomic<int> standing{0};
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Mutator inner(*heap_);
      for (int i = 0; i < 5000; ++i) Scope();
      if (t % 2 == 0) return;
      const ManagedCall call(kOpen);
      make<Cell>(0, nullptr);
      const NativeRegion native;
      ++standing;
      while (!stopped) std::this_thread::yield();
    });
  }
  {
    const NativeRegion native;
    for (int t = 0; t < kThreads; t += 2) threads[t].join();
    while (standing != kThreads / 2) std::this_thread::yield();
  }
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = Attributed();
  const HeapStatistics after = heap_->statistics();
  stopped = true;
  {
    const NativeRegion native;
    for (int t = 1; t < kThreads; t += 2) threads[t].join();
  }
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "open"), kThreads / 2 * kCellBytes);
  EXPECT_TRUE(profile.mlmon.total == 8 * MlmonInt(after.allocated_words));
  EXPECT_TRUE(profile.mlmon.total_gc == 8 * MlmonInt(after.promoted_words));
}

// A sample at a rate of nearly 1 estimates the same bytes as the clocks.
TEST_F(ManagedProfileTest, SampledBlocksHaveTheirHeaderToo) {
  ProfileOptions options;
  options.rate = 0.9999;
  options.seed = 1;
  ASSERT_TRUE(Profile::Start(options).ok());
  for (int i = 0; i < 1000; ++i) Small();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(Bytes(Attributed(data_), "build"), 2000 * kCellBytes);
}

}  // namespace
}  // namespace allomon::gc
