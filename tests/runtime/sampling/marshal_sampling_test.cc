// Samples of unmarshalled objects, as trackers see them: OCaml's `intern`.
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "tests/runtime/marshal_graphs.h"
#include "tests/runtime/sampling_case.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using ::allomon::testing::BinomialTolerance;
using testing::Node;
using testing::NodeTypes;
using testing::RandomGraph;
using testing::SameGraph;

struct Tree {
  Field<Tree> left;
  Field<Tree> right;
};

MarshalTypes TreeTypes() {
  MarshalTypes types;
  types.Add<Tree>("tree").Add<Array<Tree>>("trees");
  return types;
}

Local<Tree> MakeTree(int depth) {
  if (depth == 0) return nullptr;
  return make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

struct MarshalCounts {
  uint64_t samples = 0, others = 0;
  uint64_t alloc_minor = 0, alloc_major = 0, promote = 0, dealloc_minor = 0, dealloc_major = 0;
};

class MarshalTracker {
 public:
  explicit MarshalTracker(MarshalCounts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation& a) { return Count(a, &counts_->alloc_minor); }
  std::optional<int> alloc_major(const Allocation& a) { return Count(a, &counts_->alloc_major); }
  std::optional<int> promote(int) { return ++counts_->promote, 1; }
  void dealloc_minor(int) { ++counts_->dealloc_minor; }
  void dealloc_major(int) { ++counts_->dealloc_major; }

 private:
  std::optional<int> Count(const Allocation& a, uint64_t* kind) {
    if (a.source != AllocationSource::kMarshal) {
      ++counts_->others;
      return std::nullopt;
    }
    counts_->samples += a.n_samples;
    ++*kind;
    return 0;
  }
  MarshalCounts* counts_;
};

class MarshalSamplingTest : public SampledHeapTest {
 protected:
  void Start(double rate, uint64_t seed) {
    ASSERT_TRUE(Tracker::start(rate, MarshalTracker(&counts_), Seeded(seed)).ok());
  }

  MarshalCounts counts_;
  const MarshalTypes tree_types_ = TreeTypes();
  const MarshalTypes node_types_ = NodeTypes();
};

TEST_F(MarshalSamplingTest, RateOneCountsEveryWordAndHeader) {
  std::mt19937_64 random(1);
  const std::string small = *marshal<Node>(RandomGraph(random, 3), node_types_);
  const std::string mixed = *marshal<Node>(RandomGraph(random, 3000), node_types_);
  const std::string large = *marshal<Array<Tree>>(make_array<Tree>(5000), tree_types_);
  Start(1, 1);
  const uint64_t before = heap_->statistics().allocated_words;
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(unmarshal<Node>(small, node_types_).ok());
    ASSERT_TRUE(unmarshal<Node>(mixed, node_types_).ok());
    ASSERT_TRUE(unmarshal<Array<Tree>>(large, tree_types_).ok());
  }
  EXPECT_EQ(counts_.samples, heap_->statistics().allocated_words - before);
  EXPECT_GT(counts_.alloc_major, 10u);
  EXPECT_EQ(counts_.others, 0u);
}

TEST_F(MarshalSamplingTest, WritingAllocatesNothing) {
  std::mt19937_64 random(1);
  const Root<Node> graph = RandomGraph(random, 100);
  Start(1, 1);
  const uint64_t before = heap_->statistics().allocated_words;
  ASSERT_TRUE(marshal<Node>(graph, node_types_).ok());
  EXPECT_EQ(heap_->statistics().allocated_words, before);
  EXPECT_EQ(counts_.samples + counts_.others, 0u);
}

TEST_F(MarshalSamplingTest, RateZeroSamplesNothing) {
  const std::string bytes = *marshal<Tree>(MakeTree(12), tree_types_);
  Start(0, 1);
  ASSERT_TRUE(unmarshal<Tree>(bytes, tree_types_).ok());
  EXPECT_EQ(counts_.samples, 0u);
}

struct LawCase {
  int depth;
  int reads;
  double rate;
};

class MarshalLawTest : public MarshalSamplingTest, public ::testing::WithParamInterface<LawCase> {};

TEST_P(MarshalLawTest, SamplesAreBinomial) {
  const LawCase c = GetParam();
  const std::string bytes = *marshal<Tree>(MakeTree(c.depth), tree_types_);
  Start(c.rate, 7);
  for (int i = 0; i < c.reads; ++i) ASSERT_TRUE(unmarshal<Tree>(bytes, tree_types_).ok());
  ASSERT_TRUE(Tracker::stop().ok());
  const double trials = 3 * static_cast<double>((1 << c.depth) - 1) * c.reads;
  EXPECT_NEAR(static_cast<double>(counts_.samples), trials * c.rate,
              BinomialTolerance(trials, c.rate));
}

INSTANTIATE_TEST_SUITE_P(SizesRates, MarshalLawTest,
                         ::testing::Values(LawCase{10, 1000, 1e-5}, LawCase{10, 300, 1e-4},
                                           LawCase{10, 300, 0.01}, LawCase{10, 20, 0.9},
                                           LawCase{16, 20, 0.1}, LawCase{1, 20000, 0.1}));

TEST_F(MarshalSamplingTest, EveryBlockIsInOneState) {
  const std::string bytes = *marshal<Tree>(MakeTree(16), tree_types_);
  Start(0.01, 3);
  Root<Tree> tree = *unmarshal<Tree>(bytes, tree_types_);
  unmarshal<Tree>(bytes, tree_types_).IgnoreError();
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_GT(counts_.promote, 100u);
  EXPECT_EQ(counts_.alloc_minor, counts_.promote + counts_.dealloc_minor);
  const uint64_t live = counts_.promote - counts_.dealloc_major;
  EXPECT_NEAR(static_cast<double>(live), 65535 * 0.03, 65535 * 0.03 / 2);
  tree = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_major, counts_.promote);
}

TEST_F(MarshalSamplingTest, NothingIsFreedWhileReachable) {
  const std::string bytes = *marshal<Tree>(MakeTree(14), tree_types_);
  Start(0.05, 4);
  const Root<Tree> tree = *unmarshal<Tree>(bytes, tree_types_);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(counts_.dealloc_minor + counts_.dealloc_major, 0u);
  EXPECT_EQ(counts_.promote, counts_.alloc_minor);
}

// The callbacks allocate, collect, and read another graph between two objects of this one.
TEST_F(MarshalSamplingTest, CallbackThatAllocatesCollectsAndReads) {
  struct Shared {
    Heap* heap;
    const MarshalTypes* types;
    std::string bytes;
    int allocs = 0, depth = 0;
  } shared{heap_.get(), &node_types_, "", 0, 0};
  class Greedy {
   public:
    explicit Greedy(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) {
      EXPECT_EQ(shared_->depth++, 0) << "nested callback";
      for (int i = 0; i < shared_->allocs % 50; ++i) make_bytes(100);
      if (shared_->allocs % 7 == 0) shared_->heap->Collect(CollectionKind::kMinor);
      if (shared_->allocs % 11 == 0) {
        EXPECT_TRUE(unmarshal<Node>(shared_->bytes, *shared_->types).ok());
      }
      --shared_->depth;
      ++shared_->allocs;
      return std::nullopt;
    }

   private:
    Shared* shared_;
  };
  std::mt19937_64 random(5);
  const Root<Node> graph = RandomGraph(random, 40);
  shared.bytes = *marshal<Node>(graph, node_types_);
  ASSERT_TRUE(Tracker::start(1, Greedy(&shared), Seeded(1)).ok());
  const auto copy = unmarshal<Node>(shared.bytes, node_types_);
  ASSERT_TRUE(copy.ok());
  SameGraph same;
  EXPECT_TRUE(same(graph, *copy));
  EXPECT_GT(shared.allocs, 40);
}

// The n-th callback throws.  The read is abandoned.  The objects made so far die and their trackers
// are told.
TEST_F(MarshalSamplingTest, ExceptionOfACallbackEndsTheRead) {
  struct Shared {
    int allocs = 0, deaths = 0, throws_at = 0;
  } shared;
  class Throwing {
   public:
    explicit Throwing(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) {
      if (++shared_->allocs == shared_->throws_at) throw std::runtime_error("callback");
      return 0;
    }
    std::optional<int> promote(int) { return 0; }
    void dealloc_minor(int) { ++shared_->deaths; }
    void dealloc_major(int) { ++shared_->deaths; }

   private:
    Shared* shared_;
  };
  const std::string bytes = *marshal<Tree>(MakeTree(6), tree_types_);
  for (int n = 1; n <= 63; ++n) {
    shared = {0, 0, n};
    ASSERT_TRUE(Tracker::start(1, Throwing(&shared), Seeded(1)).ok());
    EXPECT_THROW(unmarshal<Tree>(bytes, tree_types_).IgnoreError(), std::runtime_error);
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(shared.allocs, n);
    EXPECT_EQ(shared.deaths, n - 1);
    ASSERT_TRUE(Tracker::stop().ok());
  }
  EXPECT_TRUE(unmarshal<Tree>(bytes, tree_types_).ok());
}

// The innermost frame is the call that allocated, here the reader's, as in OCaml's callstacks.
TEST_F(MarshalSamplingTest, AllObjectsOfOneReadHaveItsCallstack) {
  class Stacks {
   public:
    explicit Stacks(std::vector<Callstack>* stacks) : stacks_(stacks) {}
    std::optional<int> alloc_minor(const Allocation& a) {
      stacks_->push_back(a.callstack);
      return std::nullopt;
    }

   private:
    std::vector<Callstack>* stacks_;
  };
  std::vector<Callstack> stacks;
  const std::string bytes = *marshal<Tree>(MakeTree(5), tree_types_);
  ASSERT_TRUE(Tracker::start(1, Stacks(&stacks)).ok());
  ASSERT_TRUE(unmarshal<Tree>(bytes, tree_types_).ok());
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_EQ(stacks.size(), 31u);
  for (const Callstack& stack : stacks) EXPECT_EQ(stack.id(), stacks[0].id());
  EXPECT_GT(stacks[0].size(), 3u);
}

}  // namespace
}  // namespace allomon::gc
