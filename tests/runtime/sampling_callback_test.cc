// Callbacks for managed blocks that allocate, collect, stop and start.
#include <optional>
#include <random>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/sampling_case.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

TEST_F(SamplingTest, PromoteRunsAfterTheCollectionAndOnce) {
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
  const Root<Cell> cell = make<Cell>(1, nullptr);
  EXPECT_EQ(counts_.promote, 0u);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(counts_.promote, 1u);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.promote, 1u);
  EXPECT_EQ(counts_.dealloc_major, 0u);
}

// OCaml's minor_heap_edge: callbacks that allocate and fill the nursery, exactly at its edge.
TEST_F(SamplingTest, CallbackThatAllocatesAndCollects) {
  struct Shared {
    Heap* heap;
    int allocs = 0, promotes = 0, deallocs = 0, depth = 0;
  } shared{heap_.get()};
  class Greedy {
   public:
    explicit Greedy(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) {
      EXPECT_EQ(shared_->depth++, 0) << "nested callback";
      for (int i = 0; i < shared_->allocs % 500; ++i) make_bytes(16);
      if (shared_->allocs % 100 == 0) shared_->heap->Collect(CollectionKind::kMinor);
      --shared_->depth;
      return ++shared_->allocs;
    }
    std::optional<int> promote(int value) {
      EXPECT_EQ(shared_->depth++, 0);
      make_bytes(100);
      if (shared_->promotes % 97 == 0) shared_->heap->Collect(CollectionKind::kMajor);
      --shared_->depth;
      ++shared_->promotes;
      return value;
    }
    void dealloc_minor(int) { ++shared_->deallocs; }

   private:
    Shared* shared_;
  };
  ASSERT_TRUE(Tracker::start(1, Greedy(&shared), Seeded(1)).ok());
  Root<Array<Array<Cell>>> kept = make_array<Array<Cell>>(1500);
  for (size_t i = 0; i < 1500; ++i) kept->at(i) = make_array<Cell>(48);
  heap_->CollectFromTop(CollectionKind::kMinor);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(shared.allocs, 1500);
  EXPECT_EQ(shared.promotes, 1500);
  EXPECT_EQ(shared.deallocs, 0);
  for (size_t i = 0; i < 1500; ++i) ASSERT_EQ(kept->at(i)->length(), 48u);
}

// A due callback allocates words on the fast path, immediately before the allocation whose slow
// path ran the callback.
TEST_F(SamplingTest, WordsThatDueCallbacksAllocateAreCounted) {
  struct Allocating {
    std::optional<int> alloc_minor(const Allocation&) { return 1; }
    std::optional<int> promote(int value) { return value; }
    void dealloc_minor(int) {
      for (int i = 0; i < 20; ++i) make<Cell>(1, nullptr);
      *cells += 20;
    }
    uint64_t* cells;
  };
  uint64_t cells = 20000;
  ASSERT_TRUE(Tracker::start(0.1, Allocating{&cells}, Seeded(1)).ok());
  for (int i = 0; i < 20000; ++i) make<Cell>(i, nullptr);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_GT(cells, 50000u);
  EXPECT_EQ(heap_->statistics().allocated_words, cells * 3);
}

// OCaml's minor_heap_edge with its numbers.  Every block is kept, so all are promoted, wherever the
// callbacks' own allocations have placed them.
TEST_F(SamplingTest, BlocksAtTheEdgeOfTheNursery) {
  struct Link {
    Field<Array<Cell>> block;
    Field<Link> next;
  };
  struct Shared {
    std::mt19937 random{1};
    uint64_t allocs = 0, promotes = 0, dealloc_minor = 0;
  } shared;
  struct Filling {
    std::optional<int> alloc_minor(const Allocation&) {
      ++shared->allocs;
      for (uint32_t i = shared->random() % 500; i > 0; --i) make_array<Cell>(0);
      return 1;
    }
    std::optional<int> promote(int value) { return ++shared->promotes, value; }
    void dealloc_minor(int) { ++shared->dealloc_minor; }
    Shared* shared;
  };
  ASSERT_TRUE(Tracker::start(1, Filling{&shared}, Seeded(1)).ok());
  Root<Link> list;
  for (int i = 0; i < 10000; ++i) {
    const Root<Array<Cell>> block = make_array<Cell>(48);
    list = make<Link>(block, list);
  }
  heap_->CollectFromTop(CollectionKind::kMinor);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(shared.allocs, 20000u);
  EXPECT_EQ(shared.promotes, 20000u);
  EXPECT_EQ(shared.dealloc_minor, 0u);
}

TEST_F(SamplingTest, StopInsideACallback) {
  struct Shared {
    int allocs = 0, others = 0;
  } shared;
  class Stopping {
   public:
    explicit Stopping(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) {
      if (++shared_->allocs == 5) {
        EXPECT_TRUE(Tracker::stop().ok());
      }
      return 1;
    }
    std::optional<int> promote(int) { return ++shared_->others; }
    void dealloc_minor(int) { ++shared_->others; }

   private:
    Shared* shared_;
  };
  ASSERT_TRUE(Tracker::start(1, Stopping(&shared), Seeded(1)).ok());
  const Root<Cell> list = MakeList(1000);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(shared.allocs, 5);
  EXPECT_EQ(shared.others, 0);
}

TEST_F(SamplingTest, RestartInsideACallbackSamplesTheNextBlock) {
  class Restarting {
   public:
    explicit Restarting(Counts* counts) : counts_(counts) {}
    std::optional<int> alloc_minor(const Allocation&) {
      EXPECT_TRUE(Tracker::stop().ok());
      EXPECT_TRUE(Tracker::start(1, CountingTracker(counts_), Seeded(1)).ok());
      return 1;
    }

   private:
    Counts* counts_;
  };
  ASSERT_TRUE(Tracker::start(1, Restarting(&counts_), Seeded(1)).ok());
  make<Cell>(1, nullptr);
  EXPECT_EQ(counts_.alloc_minor, 0u);
  make<Cell>(1, nullptr);
  EXPECT_EQ(counts_.alloc_minor, 1u);
}

TEST_F(SamplingTest, KeepTrackingFollowsToTheEnd) {
  const auto id = Tracker::start(1, CountingTracker(&counts_), Seeded(1));
  ASSERT_TRUE(id.ok());
  Root<Cell> list = MakeList(100);
  ASSERT_TRUE(Tracker::stop(StopMode::kKeepTracking).ok());
  MakeList(100);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(counts_.promote, 100u);
  list = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_major, 100u);
  ASSERT_TRUE(Tracker::discard(*id).ok());
}

TEST_F(SamplingTest, DiscardEndsAllCallbacks) {
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
  const Root<Cell> list = MakeList(100);
  ASSERT_TRUE(Tracker::stop().ok());
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.promote + counts_.dealloc_minor + counts_.dealloc_major, 0u);
}

}  // namespace
}  // namespace allomon::gc
