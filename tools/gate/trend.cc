#include "tools/gate/trend.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tracker/formats/write_file.h"

namespace allomon::gate {
namespace {

// The newest run with its call sites, and the newest one of another commit.
std::string LastPath(const std::string& folder) { return folder + "/last_run.json"; }
std::string EarlierPath(const std::string& folder) { return folder + "/earlier_run.json"; }

// Returns what a command prints, without the newline at its end; nullopt if it fails.
std::optional<std::string> OutputOf(const char* command) {
  std::FILE* const pipe = popen(command, "re");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece{};
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), got);
  }
  if (pclose(pipe) != 0) return std::nullopt;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts = {};
  char text[64] = "";
  if (gmtime_r(&now, &parts) != nullptr) {
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  }
  return text;
}

absl::StatusOr<std::string> CheckedCommit(const std::string& commit, const char* origin) {
  const auto is_plain = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  if (commit.size() > 100 || !std::all_of(commit.begin(), commit.end(), is_plain)) {
    return absl::InvalidArgumentError(std::string(origin) +
                                      ": not the name of a commit; give it by --commit=NAME");
  }
  return commit;
}

std::vector<Figure> ToFigures(const std::vector<Figures>& benchmarks) {
  std::vector<Figure> figures;
  for (const Figures& benchmark : benchmarks) {
    for (int i = 0; i < kMetrics; ++i) {
      if (!benchmark.values[i].has_value()) continue;
      figures.push_back({benchmark.name, NameOf(static_cast<Metric>(i)), *benchmark.values[i]});
    }
  }
  return figures;
}

// Leaves counted figures of benchmarks in both runs.
Comparison OnlyGrowth(Comparison comparison) {
  auto& judgements = comparison.judgements;
  const auto is_other = [](const Judgement& judgement) {
    return judgement.verdict == Verdict::kRemoved || judgement.verdict == Verdict::kAdded;
  };
  judgements.erase(std::remove_if(judgements.begin(), judgements.end(), is_other),
                   judgements.end());
  return comparison;
}

// Takes from an earlier run the figures that this one lacks, and all that are not counted.
std::vector<Figures> Comparable(std::vector<Figures> earlier, const std::vector<Figures>& current) {
  for (Figures& was : earlier) {
    was.values[kInstructions].reset();
    for (const Figures& is : current) {
      for (int i = 0; i < kMetrics && is.name == was.name; ++i) {
        if (!is.values[i].has_value()) was.values[i].reset();
      }
    }
  }
  return earlier;
}

// Returns the commit of the newest run before the last one that is of another commit, or "".
std::string OtherCommit(const std::vector<Run>& runs) {
  for (size_t i = runs.size(); i-- > 0;) {
    if (runs[i].commit != runs.back().commit) return runs[i].commit;
  }
  return "";
}

// Keeps the call sites of this run, and has those of the newest one of another commit ready.
absl::Status KeepSites(const std::string& folder, const std::vector<Run>& runs,
                       const std::vector<Figures>& current) {
  const size_t count = runs.size();
  const bool is_other_commit = count < 2 || runs[count - 2].commit != runs[count - 1].commit;
  std::string error;
  // The first run of a commit makes the last run the earlier one.  There may be no last run.
  if (is_other_commit) std::rename(LastPath(folder).c_str(), EarlierPath(folder).c_str());
  if (!WriteFileAtomically(LastPath(folder), ToBaseline(current), 0644, &error)) {
    return absl::InternalError(error);
  }
  return absl::OkStatus();
}

absl::Status CompareWithEarlier(const std::string& folder, const std::vector<Figures>& current,
                                Trend* trend) {
  const std::string path = EarlierPath(folder);
  if (access(path.c_str(), F_OK) != 0) return absl::OkStatus();
  const auto earlier = ReadFigures(path, "");
  if (!earlier.ok()) return earlier.status();
  auto comparison = Compare(Comparable(*earlier, current), current, Allowance());
  if (!comparison.ok()) return comparison.status();
  trend->comparison = OnlyGrowth(*std::move(comparison));
  trend->compared_with = OtherCommit(trend->history.runs);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> CommitOfRun(const std::string& given) {
  if (!given.empty()) return CheckedCommit(given, "--commit");
  if (const auto head = OutputOf("git rev-parse --verify HEAD 2>/dev/null"); head.has_value()) {
    const auto changes =
        OutputOf("git status --porcelain --untracked-files=no 2>/dev/null | head -c 1");
    const bool has_changes = changes.has_value() && !changes->empty();
    return CheckedCommit(*head + (has_changes ? "+" : ""), "git");
  }
  for (const char* const name : {"GITHUB_SHA", "CI_COMMIT_SHA"}) {
    const char* const value = getenv(name);
    if (value != nullptr && *value != '\0') return CheckedCommit(value, name);
  }
  return absl::InvalidArgumentError(
      "no commit to file the run under: this folder is in no git repository with commits, and "
      "neither GITHUB_SHA nor CI_COMMIT_SHA is set; give it by --commit=NAME");
}

absl::StatusOr<Trend> AddToTrend(const std::string& folder, const std::string& commit,
                                 const std::vector<Figures>& current) {
  auto history = AppendRun(folder, {commit, Now(), ToFigures(current)});
  if (!history.ok()) return history.status();
  Trend trend;
  trend.history = *std::move(history);
  absl::Status status = KeepSites(folder, trend.history.runs, current);
  if (status.ok()) status = CompareWithEarlier(folder, current, &trend);
  if (!status.ok()) return status;
  trend.findings = FindChanges(trend.history.runs);
  trend.grew = GrewNow(trend.history, trend.findings);
  return trend;
}

absl::StatusOr<Trend> ReadTrend(const std::string& folder) {
  auto history = ReadHistory(folder);
  if (!history.ok()) return history.status();
  if (history->runs.empty() && history->damage.empty()) {
    return absl::NotFoundError(HistoryPath(folder) +
                               ": there is no history yet; a run with --current=FILE begins it");
  }
  Trend trend;
  trend.history = *std::move(history);
  trend.findings = FindChanges(trend.history.runs);
  return trend;
}

std::string ToText(const Trend& trend) {
  std::string text;
  if (trend.comparison.has_value() && !trend.comparison->passed()) {
    text += "beside commit " + ShortCommit(trend.compared_with) + ":\n" + ToText(*trend.comparison);
  }
  return text + ToText(trend.history, trend.findings);
}

}  // namespace allomon::gate
