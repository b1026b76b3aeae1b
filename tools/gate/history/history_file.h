// The file that keeps the figures of all runs: one line of JSON for each run.
//
//   {"allomon_gate_history":1,"commit":"4f3a...","date":"2026-11-28T06:05:04Z",
//    "figures":{"BM_A":{"allocations":2,"bytes":100}}}
//
// Several processes may append at the same time.  A line is written whole, or not at all.
#ifndef ALLOMON_TOOLS_GATE_HISTORY_HISTORY_FILE_H_
#define ALLOMON_TOOLS_GATE_HISTORY_HISTORY_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::gate {

// The newest runs that the file keeps.  The oldest quarter goes when there are more, or more bytes.
constexpr size_t kMostRuns = 2000;
constexpr size_t kMostHistoryBytes = size_t{16} << 20;

struct Figure {
  std::string benchmark;
  std::string metric;  // "allocations"
  double value = 0;
};

struct Run {
  std::string commit;  // a "+" at the end says that the source had changes beyond the commit
  std::string date;    // when it ran: ISO 8601, UTC
  std::vector<Figure> figures;
};

struct History {
  std::vector<Run> runs;  // in the order of the file
  std::string damage;     // one line about lines that could not be read, or ""
};

std::string HistoryPath(const std::string& folder);

// Reads the history of a folder; there are no runs if there is no file yet.  Lines that were cut
// or damaged are left out, and named in `damage`.  Fails with one line that names the file if it is
// another program's, or of another version, or cannot be read.
absl::StatusOr<History> ReadHistory(const std::string& folder);

// Appends a run; makes the folder and the file if they are not there.  Returns the history as
// ReadHistory() does, with the run.  Fails as that does, and then leaves the file as it was.
absl::StatusOr<History> AppendRun(const std::string& folder, const Run& run);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_HISTORY_HISTORY_FILE_H_
