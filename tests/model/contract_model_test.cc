// Random programs of several threads, native and managed, run against the reference model.  They
// check every rule of the memprof contract, block by block and tracker by tracker.
//
// Each configuration runs rounds of a fixed sequence of seeds for two seconds.  The interleaving of
// the threads is not controlled.  ALLOMON_MODEL_SECONDS=60 makes a long run.
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/model/worker.h"

namespace allomon::model {
namespace {

constexpr Mischief kNone = {};

using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  const char* heap_options;
  int threads;
  int steps;  // the steps of one thread before it ends and another begins
  Mischief mischief;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

struct Start {
  World* world;
  uint64_t seed;
  int steps;
};

void* RunThread(void* start) {
  const Start& s = *static_cast<Start*>(start);
  const gc::Mutator mutator(*s.world->heap);
  Worker worker(s.world, s.seed);
  for (int i = 0; i < s.steps && !::testing::Test::HasFailure(); ++i) worker.Step();
  return nullptr;
}

class ContractModelTest : public ::testing::TestWithParam<Case> {
 protected:
  // Runs two generations of threads.  Some end in the middle of a callback.
  void RunThreads(World* world, uint64_t seed) {
    const auto count = static_cast<size_t>(GetParam().threads);
    std::vector<pthread_t> threads(count);
    std::vector<Start> starts(2 * count);
    for (size_t i = 0; i < 2 * count; ++i) {
      if (i >= count) {
        ASSERT_EQ(pthread_join(threads[i - count], nullptr), 0);
      }
      starts[i] = {world, seed * 1000 + i, GetParam().steps / (i % 3 == 2 ? 4 : 1)};
      ASSERT_EQ(pthread_create(&threads[i % count], nullptr, RunThread, &starts[i]), 0);
    }
    for (const pthread_t thread : threads) ASSERT_EQ(pthread_join(thread, nullptr), 0);
  }

  // No other thread runs now, so sums can be compared, and unreachable blocks must be dead.
  void CheckQuiet(World* world) {
    for (const RunPtr& run : world->runs.All()) {
      if (run->was_left) continue;
      uint64_t live = 0;
      for (const LiveStack& stack : Tracker::snapshot(run->id)) live += stack.sampled_blocks;
      EXPECT_EQ(live, static_cast<uint64_t>(run->open));
      const auto statistics = Tracker::statistics(run->id);
      ASSERT_TRUE(statistics.ok());
      EXPECT_EQ(statistics->dropped_blocks, 0u);
      EXPECT_EQ(statistics->reported_blocks, run->births);
      EXPECT_EQ(statistics->n_samples, run->samples);
    }
  }

  void FreeAll(World* world) {
    for (NativeBlock& block : world->pool) SamplingFree(block.memory);
    world->pool.clear();
    world->mailbox->Reset();
    world->mailbox_record = nullptr;
    // The second collection finds the objects that the callbacks of the first one released.
    for (int i = 0; i < 2; ++i) world->heap->Collect(gc::CollectionKind::kMajor);
  }

  void RunRound(uint64_t seed) {
    gc::HeapOptions options;
    ASSERT_TRUE(options.Parse(GetParam().heap_options).ok());
    const auto heap = gc::Heap::Create(options).value();
    World world(GetParam().threads, GetParam().mischief);
    world.heap = heap.get();
    world.mailbox = std::make_unique<gc::Global<Node>>();
    RunThreads(&world, seed);
    World quiet(1, kNone);
    quiet.heap = heap.get();
    {
      const gc::Mutator mutator(*heap);
      Worker worker(&quiet, seed);
      // The collection runs the callbacks of objects that died with their thread.
      heap->Collect(gc::CollectionKind::kMinor);
      CheckQuiet(&world);
      FreeAll(&world);
      for (const RunPtr& run : world.runs.All()) {
        EXPECT_TRUE(run->open == 0 || run->was_left) << run->open << " dead, and followed";
      }
      EndAll(&world, &worker);
    }
  }

  void EndAll(World* world, Worker* worker) {
    while (const RunPtr run = world->runs.TakeOne(0)) {
      if (run->sampling) worker->StopRun(run, StopMode::kKeepTracking);
      worker->EndRun(run);
      EXPECT_EQ(run->values, 0) << "values that were not destroyed";
    }
    EXPECT_TRUE(world->runs.AllGone()) << "trackers or values that were not destroyed";
  }
};

double Seconds() {
  const char* text = getenv("ALLOMON_MODEL_SECONDS");
  return text == nullptr ? 2 : atof(text);
}

TEST_P(ContractModelTest, EveryTrackerHearsExactlyWhatItShould) {
  const auto end = Clock::now() + std::chrono::duration<double>(Seconds());
  uint64_t rounds = 0;
  while (!HasFailure() && (rounds < 2 || Clock::now() < end)) RunRound(++rounds);
  RecordProperty("rounds", static_cast<int>(rounds));
}

constexpr Mischief kBusy = {0, 0, 50, 5, 2};
constexpr Mischief kThrowing = {10, 0, 20, 2, 2};
constexpr Mischief kLeaving = {5, 1, 20, 2, 2};

INSTANTIATE_TEST_SUITE_P(
    Programs, ContractModelTest,
    ::testing::Values(
        Case{"OneThread", "nursery=64K,floor=256K", 1, 4000, kNone},
        Case{"OneThreadBusyCallbacks", "nursery=64K,floor=256K", 1, 4000, kBusy},
        Case{"OneThreadThrowingCallbacks", "nursery=64K,floor=256K", 1, 4000, kThrowing},
        Case{"FourThreads", "nursery=64K,floor=256K", 4, 2000, kNone},
        Case{"FourThreadsBusyCallbacks", "nursery=64K,floor=256K", 4, 2000, kBusy},
        Case{"FourThreadsThrowingCallbacks", "nursery=64K,floor=256K", 4, 2000, kThrowing},
        Case{"FourThreadsLeavingInCallbacks", "nursery=64K,floor=256K", 4, 2000, kLeaving},
        Case{"FourThreadsVerified", "nursery=64K,floor=128K,verify", 4, 500, kBusy},
        Case{"TwoThreadsStressed", "nursery=64K,stress=5,verify", 2, 200, kBusy}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace allomon::model
