// BenchmarkMemoryManager compiles against either shape of Google Benchmark's MemoryManager, and the
// library's call of Stop() reaches it.  The stub headers are compiled in by the target.
#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include "tests/gates/keep.h"
#include "tracker/gates/benchmark_memory_manager.h"

namespace allomon {
namespace {

TEST(StopShapeTest, FiguresComeByTheStopThatTheLibraryCalls) {
  BenchmarkMemoryManager allocations;
  benchmark::MemoryManager* const manager = benchmark::RegisteredManager();
  ASSERT_EQ(manager, &allocations);
  manager->Start();
  benchmark::State state;
  state.StartKeepRunning();
  Take(40);
  Take(2);
  state.FinishKeepRunning();
  benchmark::MemoryManager::Result result;
  manager->Stop(result);
  EXPECT_EQ(result.num_allocs, 2);
  EXPECT_EQ(result.total_allocated_bytes, 42);
  EXPECT_EQ(result.max_bytes_used, 40);
  EXPECT_EQ(result.net_heap_growth, 0);
}

}  // namespace
}  // namespace allomon
