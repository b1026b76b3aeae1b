// The figures in a file of Google Benchmark's JSON that a gate compares.
//
// The keys are those of Google Benchmark 1.7 (json_reporter.cc).  allocs_per_iter and its kin come
// from a memory manager, such as allomon::BenchmarkMemoryManager; "INSTRUCTIONS" comes from
// --benchmark_perf_counters=INSTRUCTIONS.
#ifndef ALLOMON_TOOLS_GATE_FIGURES_H_
#define ALLOMON_TOOLS_GATE_FIGURES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::gate {

enum Metric { kAllocations, kBytes, kPeakBytes, kInstructions, kMetrics };

// "allocations", "bytes", "peak bytes", "instructions": the first two and the last are per
// iteration.
const char* NameOf(Metric metric);

struct Frame {
  std::string function;
  std::string file;  // "" if not known
  int line = 0;      // 0 if not known
};

// A call stack that allocates, innermost frame first.
struct Site {
  double allocations = 0;  // per iteration
  double bytes = 0;
  std::vector<Frame> frames;

  // Functions and files without lines: equal for the same calls after code was moved.
  std::vector<std::string> Calls() const;
};

// One benchmark.  Of several repetitions each figure is the smallest, since what a process does
// only once can only add to it.
struct Figures {
  std::string name;
  std::array<std::optional<double>, kMetrics> values;
  std::vector<Site> sites;
  double iterations = 0;  // of the pass that was counted: min(16, timed ones of a thread)
};

// Fails with one line that begins with `path`: the file cannot be read, is not JSON or is cut
// short, is not Google Benchmark's, has no benchmarks, or has one that failed or that lacks all
// figures above.  `profile_path`, if not empty, is a profile of the same run (benchmark_profile.h).
absl::StatusOr<std::vector<Figures>> ReadFigures(const std::string& path,
                                                 const std::string& profile_path);

// A baseline: JSON that ReadFigures() reads, with the figures and their sites alone, one figure per
// line.  It has no times, dates and line numbers, so it changes only when the program does.
std::string ToBaseline(const std::vector<Figures>& benchmarks);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_FIGURES_H_
