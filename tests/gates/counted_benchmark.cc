// Benchmarks whose allocations are known, for benchmark_memory_manager_test.py.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/heap.h"
#include "tests/gates/keep.h"

namespace allomon {
namespace {

void BM_Nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
}
BENCHMARK(BM_Nothing);

// 3 blocks, 60 bytes, 30 at the peak.
void BM_ThreeBlocks(benchmark::State& state) {
  for (auto _ : state) {
    for (size_t size : {10, 20, 30}) Take(size);
  }
}
BENCHMARK(BM_ThreeBlocks);
BENCHMARK(BM_ThreeBlocks)->Name("BM_FiveIterations")->Iterations(5);
BENCHMARK(BM_ThreeBlocks)->Name("BM_TwoThreads")->Threads(2);
BENCHMARK(BM_ThreeBlocks)->Name("BM_Repeated")->Repetitions(2);

// Only allocations of the loop count.
void BM_SetUpAndPausedAllocationsDoNotCount(benchmark::State& state) {
  std::vector<Block> before(100);
  for (Block& block : before) block = Take(1000);
  for (auto _ : state) {
    Take(8);
    state.PauseTiming();
    Take(5000);
    state.ResumeTiming();
  }
  const Block after = Take(1000);
}
BENCHMARK(BM_SetUpAndPausedAllocationsDoNotCount);

void BM_KeepRunningLoop(benchmark::State& state) {
  while (state.KeepRunning()) Take(8);
  Take(100);
}
BENCHMARK(BM_KeepRunningLoop);

// Lives until the pass ends: 16 iterations of 8 bytes.
void BM_BlocksThatStay(benchmark::State& state) {
  std::vector<Block> blocks;
  blocks.reserve(state.max_iterations);
  for (auto _ : state) blocks.push_back(Take(8));
}
BENCHMARK(BM_BlocksThatStay)->Iterations(16);

struct Cell {
  long value;
  gc::Field<Cell> next;
};

// 4 objects of 16 bytes.
void BM_ManagedObjects(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  gc::Mutator mutator(**heap);
  for (auto _ : state) {
    for (int i = 0; i < 4; ++i) benchmark::DoNotOptimize(gc::make<Cell>(i, nullptr));
  }
}
BENCHMARK(BM_ManagedObjects)->Iterations(16);

// Counts on every thread: the state of std::thread, and the block allocated on the thread.  (The C
// library keeps stacks of ended threads, so the timing run has left one.)
void BM_OnAnotherThread(benchmark::State& state) {
  for (auto _ : state) std::thread([] { Take(8); }).join();
}
BENCHMARK(BM_OnAnotherThread)->Iterations(16);

void BM_Skipped(benchmark::State& state) {
  state.SkipWithError("as asked");
  for (auto _ : state) Take(8);
}
BENCHMARK(BM_Skipped);

}  // namespace
}  // namespace allomon
