// BENCHMARK_MAIN() with allocation figures.
#include "tracker/gates/benchmark_memory_manager.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  allomon::BenchmarkMemoryManager allocations;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
