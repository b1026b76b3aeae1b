// Reads the figures that a gate compares from a file of Google Benchmark's JSON.
//
// The keys are those of Google Benchmark 1.7 (json_reporter.cc).  allocs_per_iter and similar keys
// come from a memory manager, such as allomon::BenchmarkMemoryManager.  "INSTRUCTIONS" comes from
// --benchmark_perf_counters=INSTRUCTIONS.
#ifndef ALLOMON_TOOLS_GATE_FIGURES_H_
#define ALLOMON_TOOLS_GATE_FIGURES_H_

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::gate {

// ---- Reads JSON from a file, with errors for people.

using Json = nlohmann::ordered_json;

// Fails with "<path>: cannot be read: <why>" or "<path>:<line>: not JSON, or cut short".
absl::StatusOr<Json> ReadJson(const std::string& path);

// Returns an error about a file's contents: one line, "<path>: <what>".
absl::Status FileError(const std::string& path, const std::string& what);

// Returns the number at `key` of an object: nullopt if the key is absent, an error if the value is
// not a number.
absl::StatusOr<std::optional<double>> NumberAt(const Json& object, const char* key);

// Returns the string at `key`; "" if the key is absent.
std::string StringAt(const Json& object, const char* key);

enum Metric { kAllocations, kBytes, kPeakBytes, kInstructions, kMetrics };

// Returns "allocations", "bytes", "peak bytes" or "instructions".  All but the peak are per
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

  // Returns functions and files without lines, which stay equal when code is moved.
  std::vector<std::string> Calls() const;
};

// The figures of one benchmark.  Each is the smallest of all repetitions, because work that a
// process does only once can only add to it.
struct Figures {
  std::string name;
  std::array<std::optional<double>, kMetrics> values;
  std::vector<Site> sites;
  double iterations = 0;  // of the counted pass: min(16, timed iterations of a thread)
};

// Reads a file.  Fails with one line that begins with `path` in these cases: the file cannot be
// read, is not JSON or is cut short, is not Google Benchmark's, has no benchmarks, or has a
// benchmark that failed or lacks all figures above.  `profile_path`, if not empty, is a profile of
// the same run (benchmark_profile.h).
absl::StatusOr<std::vector<Figures>> ReadFigures(const std::string& path,
                                                 const std::string& profile_path);

// Returns a baseline: JSON that ReadFigures() reads, with only the figures and their sites, one
// figure per line.  It has no times, dates and line numbers, so it changes only when the program
// does.
std::string ToBaseline(const std::vector<Figures>& benchmarks);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_FIGURES_H_
