// Reads the call sites of a run of benchmarks from the file that BenchmarkMemoryManager writes:
// tracker/gates/benchmark_profile.h has the format.
#ifndef ALLOMON_TOOLS_GATE_PROFILE_H_
#define ALLOMON_TOOLS_GATE_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/figures.h"

namespace allomon::gate {

class Profile {
 public:
  // Fails with one line that begins with `path`.
  static absl::StatusOr<Profile> Read(const std::string& path);

  // Gives the benchmark the sites of its pass, which is the first unused pass with the benchmark's
  // numbers.  Google Benchmark does not tell the writer names, and may shuffle the order.  Fails if
  // no pass fits, because then the profile is of another run.
  absl::Status TakePassOf(Figures* figures);

 private:
  struct Pass {
    double allocations = 0;
    double bytes = 0;
    double peak_bytes = 0;
    std::vector<Site> sites;  // of the whole pass
    bool used = false;
  };

  std::string path_;
  std::vector<Pass> passes_;
};

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_PROFILE_H_
