// The sampling law for managed blocks, and the states that a sample passes through.
#include <atomic>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "tests/runtime/sampling_case.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using ::allomon::testing::BinomialTolerance;

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

// The sizes of memprof's lists_in_minor, arrays_in_minor and arrays_in_major, and sizes that end
// exactly at the end of the nursery, or straddle it.
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
  volatile int rounds = 2;  // clang would otherwise unroll the loop into two call sites
  for (int i = 0; i < rounds; ++i) make<Cell>(1, nullptr);
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_EQ(shared.stacks.size(), 2u);
  EXPECT_EQ(shared.stacks[0], shared.stacks[1]);
  EXPECT_GT(shared.stacks[0].size(), 3u);
}

}  // namespace
}  // namespace allomon::gc
