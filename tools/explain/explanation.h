// Reads a process and divides its resident memory.
#ifndef ALLOMON_TOOLS_EXPLAIN_EXPLANATION_H_
#define ALLOMON_TOOLS_EXPLAIN_EXPLANATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/explain/account.h"

namespace allomon::explain {

struct Explanation {
  std::string name;
  uint32_t pid = 0;
  size_t threads = 0;  // 0: not known
  double seconds = 0;  // of a recording: when it was so, since its start
  std::string backend;
  Account account;
  Totals kernels;    // sums by the kernel, right after the mappings were read
  double moved = 0;  // by how much the resident memory changed meanwhile, in parts of it
};

inline constexpr double kMostMoved = 0.01;

// A process that runs may change while it is read: the calmest of three readings counts.  Fails
// with a line that says why the process cannot be read.
absl::StatusOr<Explanation> Explain(uint32_t pid);

// Reads the file of a recording: the resident memory of its process at its last samples, and the
// live blocks of that moment.  The rest is one row.
absl::StatusOr<Explanation> ExplainFile(const std::string& path);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_EXPLANATION_H_
