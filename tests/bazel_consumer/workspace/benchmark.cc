#include <benchmark/benchmark.h>

#include <vector>

static void BM_OneBlock(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<int> numbers(100);
    benchmark::DoNotOptimize(numbers.data());
  }
}
BENCHMARK(BM_OneBlock);
