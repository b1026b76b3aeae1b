#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "tools/gate/history/changes.h"
#include "tools/text/plain_text.h"

namespace allomon::gate {
namespace {

constexpr size_t kShownCommits = 20;
constexpr size_t kShownChanges = 12;  // of one commit
constexpr size_t kShownContradictions = 5;

std::string Shown(const std::string& text) { return Printable(text, Charset::kUtf8); }

std::string Count(size_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

const Run& RunOf(const History& history, const Findings& findings, const Change& change) {
  return history.runs[findings.series[change.series].runs[change.at]];
}

// Returns the changes of one commit after those of another, the newest first.
std::vector<std::vector<Change>> ByCommit(const History& history, const Findings& findings) {
  std::vector<std::vector<Change>> groups;
  for (auto change = findings.changes.rbegin(); change != findings.changes.rend(); ++change) {
    const std::string& commit = RunOf(history, findings, *change).commit;
    const bool is_new =
        groups.empty() || RunOf(history, findings, groups.back().front()).commit != commit;
    if (is_new) groups.emplace_back();
    groups.back().insert(groups.back().begin(), *change);
  }
  return groups;
}

std::string Evidence(const Change& change) {
  if (!change.is_exact) return "noise taken into account";
  return "exact: " + Count(change.runs_before, "run") + " before, " +
         Count(change.runs_of_commit, "run") + " of this commit";
}

std::string Summary(const History& history, const Findings& findings, size_t commits) {
  std::string text = Count(history.runs.size(), "run") + " in the history, " +
                     Count(findings.series.size(), "figure") + ": ";
  return text + (commits == 0 ? "no change" : "changes at " + Count(commits, "commit")) + "\n";
}

// Returns the errors of exact figures, and of figures with noise.
std::string Errors(const Findings& findings) {
  std::string text;
  size_t contradictions = 0;
  for (const Series& series : findings.series) {
    if (series.contradiction.empty() || ++contradictions > kShownContradictions) continue;
    text += NameOf(series) + " has noise: " + Shown(series.contradiction) + "\n";
  }
  if (contradictions > kShownContradictions) {
    text += Count(contradictions - kShownContradictions, "more figure") + " with noise\n";
  }
  const auto is_exact = [](const Series& series) { return series.is_exact; };
  const auto exact =
      static_cast<size_t>(std::count_if(findings.series.begin(), findings.series.end(), is_exact));
  const size_t noisy = findings.series.size() - exact;
  if (noisy == 0) return text;
  char error[32];
  std::snprintf(error, sizeof(error), "%g", kHistoryError * 100);
  return text + Count(noisy, "figure") + " with noise, or not known to have none: " + error +
         " % is the chance that the whole history names a change of any without one\n";
}

// Escapes what Markdown and HTML would take for theirs, in a cell of a table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : Shown(text)) {
    const bool is_mark = c == '|' || c == '*' || c == '_' || c == '`' || c == '[' || c == '\\';
    if (c == '<') {
      cell += "&lt;";
    } else if (c == '&') {
      cell += "&amp;";
    } else {
      if (is_mark) cell += '\\';
      cell += c;
    }
  }
  return cell;
}

// Returns a paragraph for each line.
std::string Paragraphs(const std::string& text) {
  std::string paragraphs;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    paragraphs += Cell(text.substr(begin, end - begin)) + "\n\n";
    begin = end + 1;
  }
  return paragraphs;
}

}  // namespace

std::string FigureText(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), value == std::floor(value) ? "%.0f" : "%.3f", value);
  return text;
}

std::string ShortCommit(const std::string& commit) {
  constexpr size_t kShown = 12;
  const bool is_name =
      std::all_of(commit.begin(), commit.end(), [](unsigned char c) { return std::isxdigit(c); });
  const bool has_plus = !commit.empty() && commit.back() == '+';
  if (commit.size() <= kShown || !(is_name || has_plus)) return Shown(commit);
  return Shown(commit.substr(0, kShown)) + (has_plus ? "+" : "");
}

std::string NameOf(const Series& series) { return Shown(series.benchmark + " " + series.metric); }

std::string ChangeText(const Findings& findings, const Change& change) {
  std::string text = NameOf(findings.series[change.series]) + " " + FigureText(change.before) +
                     " -> " + FigureText(change.after);
  if (change.before == 0) return text;
  char percent[64];
  std::snprintf(percent, sizeof(percent), " (%+.1f %%)", (change.after / change.before - 1) * 100);
  return text + percent;
}

std::string ToText(const History& history, const Findings& findings) {
  const auto groups = ByCommit(history, findings);
  std::string text = Summary(history, findings, groups.size());
  for (size_t i = 0; i < std::min(groups.size(), kShownCommits); ++i) {
    const Run& run = RunOf(history, findings, groups[i].front());
    text += "commit " + ShortCommit(run.commit) + ", run " + Shown(run.date) + ":\n";
    for (size_t j = 0; j < std::min(groups[i].size(), kShownChanges); ++j) {
      text += "  " + ChangeText(findings, groups[i][j]) + "; " + Evidence(groups[i][j]) + "\n";
    }
    if (groups[i].size() > kShownChanges) {
      text += "  " + Count(groups[i].size() - kShownChanges, "more figure") + "\n";
    }
  }
  if (groups.size() > kShownCommits) {
    text += Count(groups.size() - kShownCommits, "earlier commit") + " with changes\n";
  }
  return text + Errors(findings);
}

std::string ToMarkdown(const History& history, const Findings& findings) {
  const auto groups = ByCommit(history, findings);
  std::string text = Paragraphs(Summary(history, findings, groups.size()));
  if (!groups.empty()) text += "| commit | run | change | evidence |\n|---|---|---|---|\n";
  for (size_t i = 0; i < std::min(groups.size(), kShownCommits); ++i) {
    const Run& run = RunOf(history, findings, groups[i].front());
    for (size_t j = 0; j < std::min(groups[i].size(), kShownChanges); ++j) {
      text += "| " + Cell(ShortCommit(run.commit)) + " | " + Cell(run.date) + " | " +
              Cell(ChangeText(findings, groups[i][j])) + " | " + Evidence(groups[i][j]) + " |\n";
    }
  }
  return text + (groups.empty() ? "" : "\n") + Paragraphs(Errors(findings));
}

}  // namespace allomon::gate
