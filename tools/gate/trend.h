// Keeps the figures of a run, and says what changed: `allomon gate --history`.
#ifndef ALLOMON_TOOLS_GATE_TREND_H_
#define ALLOMON_TOOLS_GATE_TREND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/comparison.h"
#include "tools/gate/figures.h"
#include "tools/gate/history/changes.h"
#include "tools/gate/history/history_file.h"

namespace allomon::gate {

struct Trend {
  History history;
  Findings findings;
  // The run against the newest one of another commit; no value if it has no such run.  Counted
  // figures that grew, with their call sites; benchmarks of one run only are left out.
  std::optional<Comparison> comparison;
  std::string compared_with;  // that commit
  bool grew = false;          // at this run
};

// Returns the commit of the files in the current folder: `given` if it is not empty, else what git
// says, with a "+" if files that it knows were changed, else GITHUB_SHA or CI_COMMIT_SHA.  Fails
// with one line if no one knows it.  Starts git.
absl::StatusOr<std::string> CommitOfRun(const std::string& given);

// Keeps the run in the folder, and compares it with the earlier ones.
absl::StatusOr<Trend> AddToTrend(const std::string& folder, const std::string& commit,
                                 const std::vector<Figures>& current);

// Reads what is in the folder.
absl::StatusOr<Trend> ReadTrend(const std::string& folder);

std::string ToText(const Trend& trend);

// ---- Pages and tables for CI systems.

// Returns the trend, or a comparison without a history, as Markdown with the call stacks folded.
std::string ToMarkdown(const Trend& trend);
std::string ToMarkdown(const Comparison& comparison);

// Returns the JSON that github-action-benchmark reads as customSmallerIsBetter.
std::string ToActionBenchmark(const std::vector<Figures>& current);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_TREND_H_
