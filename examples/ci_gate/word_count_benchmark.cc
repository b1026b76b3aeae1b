#include <benchmark/benchmark.h>

#include "examples/ci_gate/word_count.h"

// The words are longer than what std::string can hold without allocating.
constexpr char kText[] =
    "internationalisation of incomprehensibilities: internationalisation deinstitutionalised";

void BM_NewWords(benchmark::State& state) {
  for (auto _ : state) {
    WordCount words;
    words.Add(kText);
    benchmark::DoNotOptimize(words.CountOf("of"));
  }
}
BENCHMARK(BM_NewWords);

void BM_KnownWords(benchmark::State& state) {
  WordCount words;
  words.Add(kText);
  for (auto _ : state) words.Add(kText);
}
BENCHMARK(BM_KnownWords);
