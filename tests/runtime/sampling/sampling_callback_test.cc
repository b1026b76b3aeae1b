// Callbacks for managed blocks that allocate, collect, stop and start; and their order.
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

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

// The depths of the call stacks of all objects.
struct Depths {
  explicit Depths(std::vector<size_t>* depths) : depths(depths) {}
  std::optional<int> alloc_minor(const Allocation& a) {
    return depths->push_back(a.callstack.size()), 0;
  }
  std::vector<size_t>* const depths;
};
// The object is the result, so the compiler may call the slow path in place of a return.
__attribute__((noinline)) Local<Cell> MakeAsResult(Handle<Cell> tail) {
  return make<Cell>(1, tail);
}
__attribute__((noinline)) Local<Cell> MakeAtSiteAsResult(Site& site) {
  return make<Cell>(site, 1, nullptr);
}
__attribute__((noinline)) Local<Bytes> MakeBytesAsResult(size_t n) { return make_bytes(n); }
__attribute__((noinline)) Local<WeakRef<Cell>> MakeWeakAsResult(Handle<Cell> target) {
  return make_weak<Cell>(target);
}
__attribute__((noinline)) Local<Cell> MakeForUse(Handle<Cell> tail) {
  Local<Cell> made = make<Cell>(1, tail);
  asm volatile("" : : "r"(&made) : "memory");
  return made;
}

TEST_F(SamplingTest, TheFunctionThatReturnsWhatItMakesIsOnTheStack) {
  std::vector<size_t> depths;
  StartOptions options = Seeded(1);
  options.callstack_size = 256;
  Site site("results");
  ASSERT_TRUE(Tracker::start(1, Depths(&depths), options).ok());
  MakeForUse(nullptr);
  MakeAsResult(nullptr);
  MakeAtSiteAsResult(site);
  MakeBytesAsResult(16);
  MakeWeakAsResult(nullptr);
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_EQ(depths.size(), 5u);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Some helpers are not inlined there, and come on top.
  for (const size_t depth : depths) EXPECT_GE(depth, depths[0]);
#else
  for (const size_t depth : depths) EXPECT_EQ(depth, depths[0]);
#endif
}

// A callback fills what grows at that moment.
TEST_F(SamplingTest, CallbacksMayUseWhatGrows) {
  struct Shared {
    Root<GrowableArray<Cell>> all = make_growable<Cell>();
    Root<StringBuilder> text = make_string_builder();
    bool is_busy = false;
    int runs = 0;
  } shared;
  struct Filling {
    std::optional<int> alloc_minor(const Allocation&) {
      if (std::exchange(shared->is_busy, true)) return std::nullopt;
      for (int i = 0; i < 8; ++i) shared->all->push(nullptr);
      shared->text->append("thirty characters, as it seems");
      shared->is_busy = false;
      ++shared->runs;
      return std::nullopt;
    }
    Shared* shared;
  };
  ASSERT_TRUE(Tracker::start(1, Filling{&shared}, Seeded(1)).ok());
  shared.all->push(nullptr);
  shared.text->append("twenty characters ..");
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_GE(shared.runs, 2);
  EXPECT_EQ(shared.all->size(), 1u + 8 * static_cast<size_t>(shared.runs));
  EXPECT_EQ(shared.text->size(), 20u + 30 * static_cast<size_t>(shared.runs));
  EXPECT_NE(shared.text->view().find("twenty characters .."), std::string_view::npos);
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

// The order of callbacks for managed blocks, also when one of them throws.

TEST_F(SamplingTest, ExceptionOfAllocCancelsTheAllocation) {
  struct Throwing {
    std::optional<int> alloc_minor(const Allocation& a) {
      if (a.size_words == 2) throw std::runtime_error("minor");
      return 1;
    }
    std::optional<int> alloc_major(const Allocation&) { throw std::runtime_error("major"); }
  };
  const auto id = Tracker::start(1, Throwing(), Seeded(1));
  ASSERT_TRUE(id.ok());
  const uint64_t before = heap_->statistics().allocated_words;
  Root<Cell> cell;
  EXPECT_THROW(cell = make<Cell>(1, nullptr), std::runtime_error);
  EXPECT_FALSE(cell);
  EXPECT_THROW(make_array<Cell>(100000), std::runtime_error);
  EXPECT_EQ(heap_->statistics().allocated_words, before);
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 2u);
  EXPECT_EQ(make_bytes("still works")->view(), "still works");
  ASSERT_TRUE(Tracker::stop().ok());
  cell = make<Cell>(2, nullptr);
  EXPECT_EQ(cell->head, 2);
}

// When one of two trackers throws, the other one learns that the block died.
TEST_F(SamplingTest, ExceptionOfOneTrackerEndsTheBlockForTheOther) {
  struct Throwing {
    std::optional<int> alloc_minor(const Allocation&) { throw 1; }
  };
  StartOptions concurrent = Seeded(1);
  concurrent.concurrent = true;
  const auto counting = Tracker::start(1, CountingTracker(&counts_), concurrent);
  const auto throwing = Tracker::start(1, Throwing(), concurrent);
  ASSERT_TRUE(counting.ok() && throwing.ok());
  EXPECT_THROW(make<Cell>(1, nullptr), int);
  EXPECT_EQ(counts_.alloc_minor, 1u);
  EXPECT_EQ(counts_.dealloc_minor, 1u);
  ASSERT_TRUE(Tracker::stop(*counting).ok());
  ASSERT_TRUE(Tracker::stop(*throwing).ok());
}

TEST_F(SamplingTest, ExceptionOfPromoteLeavesTheSafepointAndTheRestStaysDue) {
  struct Shared {
    int promotes = 0;
  } shared;
  class ThrowingOnce {
   public:
    explicit ThrowingOnce(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) { return 1; }
    std::optional<int> promote(int value) {
      if (++shared_->promotes == 2) throw std::runtime_error("promote");
      return value;
    }

   private:
    Shared* shared_;
  };
  ASSERT_TRUE(Tracker::start(1, ThrowingOnce(&shared), Seeded(1)).ok());
  const Root<Cell> list = MakeList(5);
  EXPECT_THROW(heap_->CollectFromTop(CollectionKind::kMinor), std::runtime_error);
  EXPECT_EQ(shared.promotes, 2);
  Safepoint();
  EXPECT_EQ(shared.promotes, 5);
}

// The numbers of blocks, in the order of alloc_minor, listed in the order of their next callbacks.
struct Sequence {
  int born = 0;
  std::vector<int> promoted, died, all;
  int throws_at = -1;  // dealloc_minor of this block
};
class SequenceTracker {
 public:
  explicit SequenceTracker(Sequence* sequence) : sequence_(sequence) {}
  std::optional<int> alloc_minor(const Allocation&) { return sequence_->born++; }
  std::optional<int> promote(int number) {
    sequence_->promoted.push_back(number);
    sequence_->all.push_back(number);
    return number;
  }
  void dealloc_minor(int number) {
    sequence_->died.push_back(number);
    sequence_->all.push_back(number);
    if (number == sequence_->throws_at) throw std::runtime_error("dealloc");
  }

 private:
  Sequence* sequence_;
};

std::vector<int> NumbersBelow(int end) {
  std::vector<int> numbers;
  for (int i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

// Makes cells, and keeps each third alive.
Local<Cell> KeepEachThird(int cells) {
  Local<Cell> kept;
  for (int i = 0; i < cells; ++i) {
    const Local<Cell> cell = make<Cell>(i, i % 3 == 0 ? kept : nullptr);
    if (i % 3 == 0) kept = cell;
  }
  return kept;
}

// More blocks than a mutator keeps for itself; living and dying blocks alternate.
TEST_F(SamplingTest, CallbacksOfACollectionComeInTheOrderOfTheirBlocks) {
  constexpr int kCells = 100;
  Sequence sequence;
  ASSERT_TRUE(Tracker::start(1, SequenceTracker(&sequence), Seeded(1)).ok());
  const Root<Cell> kept = KeepEachThird(kCells);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(sequence.all, NumbersBelow(kCells));
  EXPECT_EQ(sequence.promoted.size(), 34u);
}

TEST_F(SamplingTest, ExceptionOfDeallocLeavesTheSafepointAndTheRestStaysDue) {
  constexpr int kCells = 50;
  Sequence sequence;
  sequence.throws_at = 20;
  ASSERT_TRUE(Tracker::start(1, SequenceTracker(&sequence), Seeded(1)).ok());
  const Root<Cell> kept = KeepEachThird(kCells);
  EXPECT_THROW(heap_->CollectFromTop(CollectionKind::kMinor), std::runtime_error);
  EXPECT_EQ(sequence.all, NumbersBelow(21));
  Safepoint();
  EXPECT_EQ(sequence.all, NumbersBelow(kCells));
}

}  // namespace
}  // namespace allomon::gc
