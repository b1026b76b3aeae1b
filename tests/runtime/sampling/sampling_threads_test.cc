// Samples of managed blocks that several threads allocate.
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/sampling_case.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using ::allomon::testing::BinomialTolerance;

// Blocks that no collection has seen: another thread collects, and then their thread ends.
TEST_F(SamplingTest, BlocksThatOnlyTheirThreadKnowsOf) {
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
  std::atomic<bool> made{false}, collected{false};
  std::thread other([&] {
    const Mutator mutator(*heap_);
    for (int i = 0; i < 5; ++i) make<Cell>(i, nullptr);
    {
      const NativeRegion native;
      made = true;
      while (!collected) std::this_thread::yield();
    }
    for (int i = 0; i < 40; ++i) make<Cell>(i, nullptr);
  });
  while (!made) Safepoint();
  heap_->CollectFromTop(CollectionKind::kMinor);
  const uint64_t seen = counts_.dealloc_minor;
  EXPECT_LE(seen, 5u);
  collected = true;
  {
    const NativeRegion native;
    other.join();
  }
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.alloc_minor, 45u);
  EXPECT_EQ(counts_.dealloc_minor + counts_.dealloc_major, 45u);
}

TEST_F(SamplingTest, ThreadsAttachedBeforeAndAfterStartAreSampled) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  const auto work = [&] {
    const Mutator mutator(*heap_);
    make<Cell>(0, nullptr);
    ++ready;
    while (!go) {
      Safepoint();
      std::this_thread::yield();
    }
    for (int i = 0; i < 100000; ++i) make<Cell>(i, nullptr);
  };
  std::thread before(work);
  while (ready < 1) {
    Safepoint();
    std::this_thread::yield();
  }
  ASSERT_TRUE(Tracker::start(0.01, CountingTracker(&counts_), Seeded(6)).ok());
  std::thread after(work);
  while (ready < 2) {
    Safepoint();
    std::this_thread::yield();
  }
  go = true;
  {
    const NativeRegion native;
    before.join();
    after.join();
  }
  heap_->CollectFromTop(CollectionKind::kMajor);
  const double trials = 200001 * 3.0;
  EXPECT_NEAR(static_cast<double>(counts_.samples), trials * 0.01, BinomialTolerance(trials, 0.01));
  EXPECT_EQ(counts_.alloc_minor, counts_.promote + counts_.dealloc_minor);
}

TEST_F(SamplingTest, HeapThatIsDestroyedReportsDeath) {
  {
    // The fixture's thread is attached to another heap.
    std::thread([this] {
      const auto heap = Heap::Create(Options()).value();
      const Mutator mutator(*heap);
      ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
      Global<Cell> kept(make<Cell>(1, nullptr));
      heap->CollectFromTop(CollectionKind::kMinor);
      EXPECT_EQ(counts_.dealloc_major, 0u);
    }).join();
  }
  EXPECT_EQ(counts_.dealloc_major, 1u);
}

}  // namespace
}  // namespace allomon::gc
