// Adds exact allocation figures to Google Benchmark's output: one line in main().
//
//   int main(int argc, char** argv) {
//     benchmark::Initialize(&argc, argv);
//     allomon::BenchmarkMemoryManager allocations;
//     benchmark::RunSpecifiedBenchmarks();
//   }
//
// or link //tracker/gates:benchmark_main, which has this main, in place of BENCHMARK_MAIN().
//
// For each benchmark, after its timing, Google Benchmark (1.7, or newer) runs n = min(16,
// iterations) iterations again on one thread, and asks for figures of that pass:
//
//   allocs_per_iter        blocks allocated in the loop / n
//   total_allocated_bytes  bytes allocated in the loop, of all n iterations
//   max_bytes_used         the most of these that lived at once
//   net_heap_growth        the bytes of these that lived at the end of the pass
//
// The timed loop alone is counted.  What the benchmark does before `for (auto _ : state)`, after
// it, or between PauseTiming() and ResumeTiming() is not, nor is the library's own work.  So the
// figures do not depend on n.  (A memory manager that counts everything between Start() and Stop()
// adds 1/n of the rest.)  To know where the loop begins, the linker's --wrap redirects four
// functions of benchmark::State; the Bazel target passes the options, and without them the program
// does not link.
//
// malloc blocks, as requested, and objects of the managed heap count, on all threads; realloc is
// one allocation and one free.  Managed objects live until a collection finds them dead, so they
// are in the peak until then.
//
// A pass that could not be counted (malloc does not report, see allocation_scope.h; blocks were
// lost; a loop never began) has num_allocs -1, and a line on standard error says why.
//
// With ALLOMON_GATE_PROFILE=path in the environment, the manager writes the call sites of all
// passes there when it is destroyed (from the folder in which it was made), as JSON for `allomon
// gate --profile`; see benchmark_profile.h.
//
// Timing is not disturbed: nothing samples outside of the pass.  One object at a time, on the
// thread that runs the benchmarks.
#ifndef ALLOMON_TRACKER_GATES_BENCHMARK_MEMORY_MANAGER_H_
#define ALLOMON_TRACKER_GATES_BENCHMARK_MEMORY_MANAGER_H_

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "tracker/gates/benchmark_profile.h"
#include "tracker/gates/exact_count.h"
#include "tracker/gates/ledger.h"
#include "tracker/gates/stop_shape.h"

namespace allomon {

class BenchmarkMemoryManager final : public internal::StoppedByFill<benchmark::MemoryManager> {
 public:
  // Registers itself, and unregisters when destroyed.
  BenchmarkMemoryManager();
  ~BenchmarkMemoryManager() override;
  BenchmarkMemoryManager(const BenchmarkMemoryManager&) = delete;
  BenchmarkMemoryManager& operator=(const BenchmarkMemoryManager&) = delete;

  void Start() override;

 private:
  void Fill(Result* result) override;
  AllocationReport EndPass();

  std::shared_ptr<internal::Ledger> ledger_;
  TrackerId tracker_;
  std::string error_;
  std::string profile_path_;  // "": no profile is written
  internal::BenchmarkProfile profile_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_BENCHMARK_MEMORY_MANAGER_H_
