// The call sites of a run of benchmarks, for `allomon gate`, which names those responsible
// for a growth.
//
//   {"allomon_gate_profile": 1,
//    "passes": [{"allocations": 16, "bytes": 640, "peak_bytes": 40,
//                "sites": [{"allocations": 16, "bytes": 640,
//                           "frames": [{"function": "f()", "file": "f.cc", "line": 3}]}]}]}
//
// One pass per run of a benchmark, in the order they ran; frames innermost first, up to the
// benchmark's function.  Google Benchmark does not tell a memory manager which benchmark is
// running; the numbers of a pass are those of its benchmark, by which the reader joins them.
#ifndef ALLOMON_TRACKER_GATES_BENCHMARK_PROFILE_H_
#define ALLOMON_TRACKER_GATES_BENCHMARK_PROFILE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "tracker/gates/allocation_report.h"

namespace allomon::internal {

class BenchmarkProfile {
 public:
  void AddPass(const AllocationReport& report);

  // False if the file cannot be written; errno says why.
  bool Write(const std::string& path) const;

 private:
  std::string passes_;
};

// A JSON string, in quotes.  Bytes that are not ASCII are passed through.
std::string JsonString(const std::string& text);

// ---- Whether a timed loop of Google Benchmark is running, known from the functions of
// benchmark::State that the linker wraps: timed_loop.cc.

struct TimedLoop {
  std::atomic<bool> running{false};
  std::atomic<uint64_t> begun{0};  // number of loops begun in this process
};

// The loop of the thread that runs the memory pass; loops of other threads do not run meanwhile.
TimedLoop& CurrentTimedLoop();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_BENCHMARK_PROFILE_H_
