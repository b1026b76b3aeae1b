// The sampling law and the memprof contract for managed blocks.
#include <atomic>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using ::allomon::testing::BinomialTolerance;

struct Cell {
  long head;
  Field<Cell> tail;
};

// Counts of callbacks and samples, by kind.  Every sample is in exactly one state.
struct Counts {
  std::atomic<uint64_t> alloc_minor{0}, alloc_major{0}, promote{0}, dealloc_minor{0},
      dealloc_major{0};
  std::atomic<uint64_t> samples{0}, sizes_wrong{0};
  std::atomic<uint64_t> custom_samples{0}, custom_blocks{0};
  uint64_t wanted_words = 0;  // 0: any size
};

class CountingTracker {
 public:
  explicit CountingTracker(Counts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation& a) {
    ++counts_->alloc_minor;
    Add(a);
    return 42;
  }
  std::optional<int> alloc_major(const Allocation& a) {
    ++counts_->alloc_major;
    Add(a);
    return 43;
  }
  std::optional<int> promote(int value) {
    EXPECT_EQ(value, 42);
    ++counts_->promote;
    return 17;
  }
  void dealloc_minor(int value) {
    EXPECT_EQ(value, 42);
    ++counts_->dealloc_minor;
  }
  void dealloc_major(int value) {
    EXPECT_TRUE(value == 17 || value == 43);
    ++counts_->dealloc_major;
  }

 private:
  void Add(const Allocation& a) {
    if (a.source == AllocationSource::kCustom) {
      counts_->custom_samples += a.n_samples;
      ++counts_->custom_blocks;
      return;
    }
    EXPECT_EQ(a.source, AllocationSource::kNormal);
    counts_->samples += a.n_samples;
    if (counts_->wanted_words != 0 && a.size_words != counts_->wanted_words) ++counts_->sizes_wrong;
  }
  Counts* counts_;
};

StartOptions Seeded(uint64_t seed) {
  StartOptions options;
  options.seed = seed;
  options.callstack_size = 0;
  return options;
}

class SamplingTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 1 << 20;
    return options;
  }
  void TearDown() override { Tracker::stop().IgnoreError(); }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
  Counts counts_;
};

Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}

TEST_F(SamplingTest, RateOneCountsEveryWordAndHeader) {
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
  const uint64_t before = heap_->statistics().allocated_words;
  for (int round = 0; round < 10; ++round) {
    make<Cell>(1, make<Cell>(2, make<Cell>(3, nullptr)));
    make_array<Cell>(10);
    make_array<Cell>(1000);
    make_array<Cell>(5000);
    make_bytes("some text");
    make_bytes(0);
    MakeList(5000);
  }
  EXPECT_EQ(counts_.samples, heap_->statistics().allocated_words - before);
  EXPECT_EQ(counts_.alloc_minor, 10u * 5007);
  EXPECT_EQ(counts_.alloc_major, 10u);
}

TEST_F(SamplingTest, RateZeroSamplesNothing) {
  ASSERT_TRUE(Tracker::start(0, CountingTracker(&counts_), Seeded(1)).ok());
  MakeList(100000);
  make_array<Cell>(100000);
  EXPECT_EQ(counts_.samples, 0u);
}

struct LawCase {
  uint64_t length;  // words of an array, its length word included
  int blocks;
  double rate;
};

class LawTest : public SamplingTest, public ::testing::WithParamInterface<LawCase> {};

TEST_P(LawTest, SamplesAreBinomial) {
  const LawCase c = GetParam();
  counts_.wanted_words = c.length;
  ASSERT_TRUE(Tracker::start(c.rate, CountingTracker(&counts_), Seeded(7)).ok());
  for (int i = 0; i < c.blocks; ++i) make_array<Cell>(c.length - 1);
  ASSERT_TRUE(Tracker::stop().ok());
  const double trials = static_cast<double>(c.length + 1) * c.blocks;
  EXPECT_NEAR(static_cast<double>(counts_.samples), trials * c.rate,
              BinomialTolerance(trials, c.rate));
  EXPECT_EQ(counts_.sizes_wrong, 0u);
}

// The sizes are memprof's lists_in_minor, arrays_in_minor and arrays_in_major, and sizes that end
// exactly at, and straddle, the end of the nursery.
INSTANTIATE_TEST_SUITE_P(SizesRates, LawTest,
                         ::testing::Values(LawCase{2, 1000000, 1e-2}, LawCase{2, 3000000, 1e-3},
                                           LawCase{2, 3000000, 1e-4}, LawCase{2, 300000, 0.1},
                                           LawCase{2, 100000, 0.9}, LawCase{250, 100000, 0.01},
                                           LawCase{250, 20000, 1e-4}, LawCase{1000, 20000, 1e-3},
                                           LawCase{1023, 20000, 1e-4}, LawCase{3000, 3000, 1e-3},
                                           LawCase{1100, 3000, 1e-5}, LawCase{300000, 30, 0.1}));

TEST_F(SamplingTest, EveryBlockIsInOneState) {
  ASSERT_TRUE(Tracker::start(0.01, CountingTracker(&counts_), Seeded(3)).ok());
  Root<Cell> kept = MakeList(50000);
  Root<Array<Cell>> big = make_array<Cell>(20000);
  MakeList(50000);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_GT(counts_.promote, 100u);
  EXPECT_EQ(counts_.alloc_minor, counts_.promote + counts_.dealloc_minor);
  const uint64_t live = counts_.promote + counts_.alloc_major - counts_.dealloc_major;
  EXPECT_GT(live, 100u);
  kept = nullptr;
  big = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_major, counts_.promote + counts_.alloc_major);
}

// Every sample is in exactly one state.  At rate 1 the samples are the heap's words.
struct States {
  std::atomic<uint64_t> born_young{0}, born_old{0}, promoted{0}, died_young{0}, died_old{0};
};
class StateTracker {
 public:
  explicit StateTracker(States* states) : states_(states) {}
  std::optional<uint64_t> alloc_minor(const Allocation& a) {
    return states_->born_young += a.n_samples, a.n_samples;
  }
  std::optional<uint64_t> alloc_major(const Allocation& a) {
    return states_->born_old += a.n_samples, a.n_samples;
  }
  std::optional<uint64_t> promote(uint64_t samples) {
    return states_->promoted += samples, samples;
  }
  void dealloc_minor(uint64_t samples) { states_->died_young += samples; }
  void dealloc_major(uint64_t samples) { states_->died_old += samples; }

 private:
  States* states_;
};

TEST_F(SamplingTest, SamplesAreConserved) {
  for (const double rate : {1.0, 0.05}) {
    States states;
    ASSERT_TRUE(Tracker::start(rate, StateTracker(&states), Seeded(8)).ok());
    heap_->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics before = heap_->statistics();
    Root<Cell> kept;
    Root<Array<Cell>> large;
    for (int round = 0; round < 8; ++round) {
      kept = MakeList(2000 * (round + 1));
      large = make_array<Cell>(2000);
      make_bytes(30000);
      MakeList(3000);
      if (round % 3 == 0) heap_->CollectFromTop(CollectionKind::kMajor);
    }
    heap_->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap_->statistics();
    // All young samples are gone.
    EXPECT_EQ(states.born_young, states.promoted + states.died_young);
    const uint64_t live = states.promoted + states.born_old - states.died_old;
    if (rate == 1.0) {
      EXPECT_EQ(states.born_young + states.born_old, s.allocated_words - before.allocated_words);
      EXPECT_EQ(states.born_old, s.born_old_words - before.born_old_words);
      EXPECT_EQ(states.promoted, s.promoted_words - before.promoted_words);
      EXPECT_EQ(states.died_young, s.freed_young_words - before.freed_young_words);
      EXPECT_EQ(states.died_old, s.freed_old_words - before.freed_old_words);
      EXPECT_EQ(live, s.old_words);
    }
    kept = nullptr;
    large = nullptr;
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(states.died_old, states.promoted + states.born_old);
    ASSERT_TRUE(Tracker::stop().ok());
  }
}

TEST_F(SamplingTest, NothingIsFreedWhileReachable) {
  ASSERT_TRUE(Tracker::start(0.01, CountingTracker(&counts_), Seeded(4)).ok());
  std::vector<Local<Array<Cell>>> kept;
  for (size_t i = 1; i <= 250; ++i) kept.push_back(make_array<Cell>(i));
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_minor + counts_.dealloc_major, 0u);
  EXPECT_EQ(counts_.promote, counts_.alloc_minor);
  kept = std::vector<Local<Array<Cell>>>();
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_minor, 0u);
  EXPECT_EQ(counts_.dealloc_major, counts_.alloc_minor);
}

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

// OCaml's minor_heap_edge: callbacks that allocate, and fill the nursery, at its very edge.
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

// A due callback allocates words on the fast path.  They come right before the allocation whose
// slow path ran the callback.
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

// OCaml's minor_heap_edge with its numbers.  Every block is kept, so all are promoted, wherever in
// the nursery the callbacks' own allocations have pushed them.
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

// When one of two trackers throws, the other one is told that the block died.
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

// The numbers of blocks, in the order of their alloc_minor, in which their next callbacks came.
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

// Makes cells of which each third lives.
Local<Cell> KeepEachThird(int cells) {
  Local<Cell> kept;
  for (int i = 0; i < cells; ++i) {
    const Local<Cell> cell = make<Cell>(i, i % 3 == 0 ? kept : nullptr);
    if (i % 3 == 0) kept = cell;
  }
  return kept;
}

// More blocks than a mutator keeps for itself; those that live and those that die take turns.
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

// A thread's blocks that no collection has seen: another thread collects, and then the thread ends.
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

TEST_F(SamplingTest, OutOfHeapBytesAreSampledWithoutHeader) {
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts_), Seeded(1)).ok());
  Root<CustomBlock> block = make_custom(nullptr, 1000, [](void*) {});
  EXPECT_EQ(counts_.custom_samples, 125u);
  EXPECT_EQ(counts_.samples, 3u);  // the block itself
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(counts_.promote, 2u);
  block = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_major, 2u);
}

TEST_F(SamplingTest, CustomLaw) {
  for (const double rate : {0.01, 0.5, 0.17}) {
    Counts counts;
    ASSERT_TRUE(Tracker::start(rate, CountingTracker(&counts), Seeded(5)).ok());
    constexpr int kBlocks = 50000;
    for (int i = 0; i < kBlocks; ++i) make_custom(nullptr, 256, [](void*) {});
    ASSERT_TRUE(Tracker::stop().ok());
    const double trials = kBlocks * 32.0;
    EXPECT_NEAR(static_cast<double>(counts.custom_samples), trials * rate,
                BinomialTolerance(trials, rate));
    EXPECT_NEAR(static_cast<double>(counts.samples), kBlocks * 3 * rate,
                BinomialTolerance(kBlocks * 3, rate));
  }
}

TEST_F(SamplingTest, CallstackBeginsAtTheCallOfMake) {
  struct Shared {
    std::vector<std::vector<uintptr_t>> stacks;
  } shared;
  class Stacks {
   public:
    explicit Stacks(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation& a) {
      shared_->stacks.emplace_back(a.callstack.begin(), a.callstack.end());
      return std::nullopt;
    }

   private:
    Shared* shared_;
  };
  ASSERT_TRUE(Tracker::start(1, Stacks(&shared)).ok());
  volatile int rounds = 2;  // clang would make two calls of the loop
  for (int i = 0; i < rounds; ++i) make<Cell>(1, nullptr);
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_EQ(shared.stacks.size(), 2u);
  EXPECT_EQ(shared.stacks[0], shared.stacks[1]);
  EXPECT_GT(shared.stacks[0].size(), 3u);
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
