// A random object graph, mutated by several threads, compared with a plain model of it.  Meanwhile
// trackers are started and stopped, and their callbacks allocate, collect and throw.
//
// Ephemerons and finalizers are part of it.  The model knows the reachable nodes: an ephemeron with
// a reachable key still has its key and value, whichever others were cleared, and no reachable node
// has been finalized.
//
// The test runs a fixed number of steps from fixed seeds.  With ALLOMON_MODEL_SECONDS=60 in the
// environment (--test_env), it runs other seeds until that time is over, in each mode.
#include <chrono>
#include <climits>
#include <cstdlib>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/model_objects.h"
#include "tests/runtime/model_program.h"
#include "tests/support/sanitizers.h"
#include "tracker/tracker.h"

namespace allomon::gc::testing {
namespace {

struct Case {
  const char* options;
  int threads;
  int all_steps;
  bool trackers;
  // For long markings in slices: the number of nodes that stay, and the number of steps between
  // minor collections.
  int filler = 0;
  int minor_every = INT_MAX;
  int visits = 1;  // times that each thread attaches, does its steps, and detaches
};

// Long modes have a quarter of their steps under the thread sanitizer, where all take minutes.
int Steps(const Case& mode) {
  return allomon::testing::kHasThreadSanitizer && mode.all_steps > 1000 ? mode.all_steps / 4
                                                                        : mode.all_steps;
}

Local<Node> MakeFiller(int length) {
  Local<Node> filler;
  while (length > 0) {
    try {
      filler = make<Node>(0u, filler, nullptr, nullptr, nullptr);
      --length;
    } catch (const Interrupted&) {
    }
  }
  return filler;
}

void RunProgram(Heap& heap, Market* market, Finalized* finalized, uint64_t seed, const Case& mode) {
  const Mutator mutator(heap);
  // Roots made later are marked first, so the marking meets ephemerons at its beginning.
  const Root<Node> filler = MakeFiller(mode.filler);
  Program program(&heap, market, finalized, seed, mode.filler > 0);
  const int steps = Steps(mode);
  for (int i = 1; i <= steps; ++i) {
    program.Step(mode.trackers);
    if (i % 7 == 0) program.Try([&] { program.Compare(static_cast<size_t>(i / 7) % 40); });
    if (i % 5000 == 0) program.Try([&] { heap.Collect(CollectionKind::kMajor); });
    if (i % mode.minor_every == 0) program.Try([&] { heap.Collect(CollectionKind::kMinor); });
    if (i % 500 == 0) program.Try(MakeSitesOld);
    if (i % 300 == 0) program.ComparePairs(false);
  }
  program.Try([&] { program.CompareAll(); });
  program.Try([&] { heap.CollectFromTop(CollectionKind::kMajor); });
  // With several threads, another thread's stack may have stale words of objects.
  const bool is_exact = mode.threads == 1;
  program.ComparePairs(is_exact);
}

class ModelTest : public ::testing::TestWithParam<Case> {};

// Blocks of trackers that were stopped with kKeepTracking still get their callbacks.
void CollectWhateverIsThrown(Heap& heap) {
  for (bool thrown = true; thrown;) {
    thrown = false;
    try {
      heap.CollectFromTop(CollectionKind::kMajor);
    } catch (const Interrupted&) {
      thrown = true;
    }
  }
}

void RunThreads(const Case& mode, uint64_t seed) {
  HeapOptions options;
  ASSERT_TRUE(options.Parse(mode.options).ok());
  const auto heap = Heap::Create(options).value();
  Market market;
  Finalized finalized;
  {
    const Mutator mutator(*heap);
    market.Open();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < mode.threads; ++t) {
    threads.emplace_back([&, t] {
      const uint64_t first_seed = seed + static_cast<uint64_t>(t * mode.visits);
      for (int visit = 0; visit < mode.visits; ++visit) {
        RunProgram(*heap, &market, &finalized, first_seed + static_cast<uint64_t>(visit), mode);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Tracker::stop().IgnoreError();
  {
    const Mutator mutator(*heap);
    market.Close();
    CollectWhateverIsThrown(*heap);
    CollectWhateverIsThrown(*heap);  // finds the objects finalized by the first one
  }
  EXPECT_EQ(finalized.size(), finalized.registered);
  const HeapStatistics s = heap->statistics();
  EXPECT_EQ(s.allocated_words, s.freed_young_words + s.freed_old_words);
  EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words);
}

TEST_P(ModelTest, GraphAndModelAgree) {
  const char* text = getenv("ALLOMON_MODEL_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(text == nullptr ? 0 : atoi(text));
  uint64_t seed = 1;
  do {
    RunThreads(GetParam(), seed);
    seed += 1000;
    ASSERT_FALSE(HasFailure()) << "seed " << seed - 1000;
  } while (std::chrono::steady_clock::now() < end);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ModelTest,
    ::testing::Values(
        Case{"nursery=64K,floor=256K", 1, 150000, false},
        Case{"nursery=64K,floor=256K", 1, 100000, true},
        Case{"nursery=64K,floor=256K", 4, 30000, false},
        Case{"nursery=64K,floor=256K", 4, 20000, true},
        Case{"nursery=64K,floor=256K,verify", 1, 10000, true},
        Case{"nursery=64K,floor=128K,verify", 4, 3000, true},
        Case{"nursery=64K,floor=256K,incremental=0", 3, 25000, true},
        Case{"nursery=64K,floor=256K,incremental=0,"
             "background=0,slice=1,verify",
             2, 4000, true},
        Case{"nursery=64K,floor=64K,stress=1,incremental=0,slice=1", 1, 4000, true, 500},
        Case{"nursery=64K,stress=1", 1, 5000, true},
        Case{"nursery=64K,stress=1,verify", 1, 700, true},
        Case{"nursery=64K,stress=3,verify", 4, 300, true},
        Case{"nursery=64K,floor=256K,mark_stack=16", 2, 15000, true},
        Case{"nursery=64K,floor=256K", 4, 150, true, 0, INT_MAX, 100},
        Case{"nursery=64K,floor=128K,incremental=0,slice=1,verify", 3, 100, true, 100, 50, 20},
        Case{"nursery=64K,floor=256K,collectors=2,collectors_from=0", 4, 150, true, 0, INT_MAX, 50},
        Case{"nursery=64K,stress=3", 3, 30, true, 0, INT_MAX, 10},
        Case{"nursery=64K,floor=256K,collectors=2,collectors_from=0", 1, 40000, true},
        Case{"nursery=64K,floor=256K,collectors=4,collectors_from=0", 4, 15000, true},
        Case{"nursery=64K,floor=128K,collectors=4,collectors_from=0,verify", 4, 2000, true},
        Case{"nursery=64K,floor=64K,stress=1,incremental=0,slice=1,collectors=2,collectors_from=0",
             1, 2000, true, 500},
        Case{"nursery=64K,floor=256K,incremental=0,slice=1,collectors=3,collectors_from=0", 2, 4000,
             true, 1000, 1},
        Case{"nursery=64K,floor=256K,incremental=0,background=0,slice=1", 1, 8000, false, 1000, 1},
        Case{"nursery=64K,floor=256K,incremental=0,slice=1", 2, 4000, true, 1000, 1},
        Case{"nursery=64K,floor=256K,incremental=0", 64, 60, true, 0, INT_MAX, 2},
        Case{"nursery=64K,floor=256K,collectors=4,collectors_from=0,verify", 64, 30, true}));

}  // namespace
}  // namespace allomon::gc::testing
