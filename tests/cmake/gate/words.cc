// One block for each call; two where somebody was careless.
#include <benchmark/benchmark.h>

#include <string>

void Words(benchmark::State& state) {
  for (auto _ : state) {
    std::string word(100, 'a');
#ifdef REGRESSED
    std::string copy = word;
    benchmark::DoNotOptimize(copy.data());
#endif
    benchmark::DoNotOptimize(word.data());
  }
}
BENCHMARK(Words);
