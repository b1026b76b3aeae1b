// Says at which commits figures of a history changed, and draws the history.  Pure functions.
//
// A counted figure (all but instructions) is exact as long as nothing contradicts that it depends
// on the code alone.  Each step of an exact figure is a change: there is no noise that could have
// made it.  All other figures are judged by SequentialTest, with one error for the whole history.
#ifndef ALLOMON_TOOLS_GATE_HISTORY_CHANGES_H_
#define ALLOMON_TOOLS_GATE_HISTORY_CHANGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/gate/history/history_file.h"

namespace allomon::gate {

// The chance that a change is said of any figure with noise, in a history without changes, however
// many figures it has and however often it is looked at.
constexpr double kHistoryError = 0.01;

// A figure of one benchmark, in the runs that have it.  Runs of one commit are next to each other.
struct Series {
  std::string benchmark;
  std::string metric;
  std::vector<size_t> runs;  // numbers of History::runs
  std::vector<double> values;
  double error = 0;  // its part of kHistoryError
  bool is_exact = false;
  std::string contradiction;  // why a counted figure is not exact, or ""
};

struct Change {
  size_t series = 0;  // a number of Findings::series
  size_t at = 0;      // of Series::values: the first figure after the change
  double before = 0;  // the median since the change before
  double after = 0;
  size_t runs_before = 0;  // as many runs since the change before
  size_t runs_of_commit = 0;
  bool is_exact = false;
};

struct Findings {
  std::vector<Series> series;
  std::vector<Change> changes;  // in the order of the history
};

Findings FindChanges(const std::vector<Run>& runs);

// Whether a figure grew at the commit of the last run, or at an earlier one that only the last run
// shows.
bool GrewNow(const History& history, const Findings& findings);

// Returns lines for people: the changes by commit, and the errors.
std::string ToText(const History& history, const Findings& findings);

// Returns the same as Markdown, for a page of a CI system.
std::string ToMarkdown(const History& history, const Findings& findings);

// Returns one row for each figure, with a mark at each change; SVG 1.1 with the colours of
// `allomon flame`, light or dark as the viewer is.
std::string ToSvg(const History& history, const Findings& findings);

// ---- Parts of these texts.

// Returns integers without a fraction, others with three digits after the point.
std::string FigureText(double value);

// Returns the first characters of a commit's name, and its "+".
std::string ShortCommit(const std::string& commit);

// Returns "BM_A allocations".
std::string NameOf(const Series& series);

// Returns "BM_A allocations 2 -> 3 (+50.0 %)".
std::string ChangeText(const Findings& findings, const Change& change);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_HISTORY_CHANGES_H_
