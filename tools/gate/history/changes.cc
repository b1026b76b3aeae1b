#include "tools/gate/history/changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "tools/gate/history/sequential_test.h"

namespace allomon::gate {
namespace {

// Figures were divided and written as decimals.  No real change is this small.
bool IsSame(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(a)); }

bool IsOfCleanCommit(const Run& run) { return !run.commit.empty() && run.commit.back() != '+'; }

// Returns the numbers of all runs, those of one commit next to each other.
std::vector<size_t> ByCommit(const std::vector<Run>& runs) {
  std::map<std::string, size_t> first_of;
  std::vector<size_t> place(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const bool is_clean = IsOfCleanCommit(runs[i]);
    place[i] = is_clean ? first_of.try_emplace(runs[i].commit, i).first->second : i;
  }
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&place](size_t a, size_t b) { return place[a] < place[b]; });
  return order;
}

// Returns all figures, with their parts of the error.  Figures that begin with the same run have
// equal parts, so that benchmarks which are added later change no earlier finding.
std::vector<Series> ToSeries(const std::vector<Run>& runs) {
  std::vector<Series> all;
  std::map<std::pair<std::string, std::string>, size_t> index;
  std::vector<size_t> first_run;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const Figure& figure : runs[run].figures) {
      if (!index.try_emplace({figure.benchmark, figure.metric}, all.size()).second) continue;
      all.push_back({figure.benchmark, figure.metric, {}, {}, 0, false, ""});
      first_run.push_back(run);
    }
  }
  double groups = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && first_run[end] == first_run[i]) ++end;
    groups += 1;
    const auto members = static_cast<double>(end - i);
    for (; i < end; ++i) all[i].error = kHistoryError / (groups * (groups + 1)) / members;
  }
  for (const size_t run : ByCommit(runs)) {
    for (const Figure& figure : runs[run].figures) {
      Series& series = all[index.at({figure.benchmark, figure.metric})];
      series.runs.push_back(run);
      series.values.push_back(figure.value);
    }
  }
  return all;
}

// Returns the steps that figures in a random order would have on average.
double StepsOfNoise(const std::vector<double>& values) {
  std::map<double, double> counts;
  for (const double value : values) counts[value] += 1;
  const auto n = static_cast<double>(values.size());
  double same_pairs = 0;
  for (const auto& [value, count] : counts) same_pairs += count * (count - 1);
  return (n - 1) * (1 - same_pairs / (n * (n - 1)));
}

// Sets whether nothing contradicts that the figure depends on the code alone.
void JudgeExactness(const std::vector<Run>& runs, Series* series) {
  if (series->metric == "instructions") return;
  size_t steps = 0;
  size_t repeats = 0;
  for (size_t i = 1; i < series->values.size(); ++i) {
    const Run& run = runs[series->runs[i]];
    const bool is_same = IsSame(series->values[i - 1], series->values[i]);
    (is_same ? repeats : steps) += 1;
    const bool is_same_commit =
        IsOfCleanCommit(run) && run.commit == runs[series->runs[i - 1]].commit;
    if (is_same_commit && !is_same) {
      series->contradiction = FigureText(series->values[i - 1]) + " and " +
                              FigureText(series->values[i]) + " in runs of one commit, " +
                              ShortCommit(run.commit);
      return;
    }
  }
  // Changes of code are rare or last.  Two steps or more, half as many as by chance, look like
  // noise: in 50 runs of two or three values noise has fewer in some of 10,000 histories.
  if (steps >= 2 && static_cast<double>(steps) * 2 >= StepsOfNoise(series->values)) {
    series->contradiction =
        std::to_string(steps) + " steps in " + std::to_string(series->values.size()) +
        " runs, as noise may have; run each commit twice to tell noise from changes";
    return;
  }
  series->is_exact = repeats != 0;
}

std::vector<size_t> PlacesOfChanges(const Series& series, uint64_t seed) {
  std::vector<size_t> places;
  SequentialTest test(series.error, seed);
  for (size_t i = 0; i < series.values.size(); ++i) {
    if (series.is_exact) {
      if (i != 0 && !IsSame(series.values[i - 1], series.values[i])) places.push_back(i);
    } else if (const auto place = test.Add(series.values[i]); place.has_value()) {
      places.push_back(*place);
    }
  }
  return places;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void AddChanges(const std::vector<Run>& runs, size_t number, Findings* findings) {
  const Series& series = findings->series[number];
  std::vector<size_t> places = PlacesOfChanges(series, number);
  places.push_back(series.values.size());
  size_t begin = 0;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const auto at = series.values.begin() + static_cast<std::ptrdiff_t>(places[i]);
    const auto end = series.values.begin() + static_cast<std::ptrdiff_t>(places[i + 1]);
    Change change;
    change.series = number;
    change.at = places[i];
    change.before = Median({series.values.begin() + static_cast<std::ptrdiff_t>(begin), at});
    change.after = Median({at, end});
    change.runs_before = places[i] - begin;
    change.is_exact = series.is_exact;
    const std::string& commit = runs[series.runs[places[i]]].commit;
    for (size_t run = places[i]; run < series.runs.size(); ++run) {
      if (runs[series.runs[run]].commit == commit) ++change.runs_of_commit;
    }
    begin = places[i];
    findings->changes.push_back(change);
  }
}

bool IsIn(const std::vector<Change>& changes, const Change& wanted) {
  return std::any_of(changes.begin(), changes.end(), [&wanted](const Change& change) {
    return change.series == wanted.series && change.at == wanted.at;
  });
}

}  // namespace

Findings FindChanges(const std::vector<Run>& runs) {
  Findings findings;
  findings.series = ToSeries(runs);
  for (size_t i = 0; i < findings.series.size(); ++i) {
    JudgeExactness(runs, &findings.series[i]);
    AddChanges(runs, i, &findings);
  }
  const auto run_of = [&findings](const Change& change) {
    return findings.series[change.series].runs[change.at];
  };
  std::stable_sort(findings.changes.begin(), findings.changes.end(),
                   [&run_of](const Change& a, const Change& b) { return run_of(a) < run_of(b); });
  return findings;
}

bool GrewNow(const History& history, const Findings& findings) {
  if (history.runs.empty()) return false;
  const std::vector<Run> earlier(history.runs.begin(), history.runs.end() - 1);
  const Findings known = FindChanges(earlier);
  for (const Change& change : findings.changes) {
    if (change.after <= change.before) continue;
    const Run& run = history.runs[findings.series[change.series].runs[change.at]];
    if (run.commit == history.runs.back().commit || !IsIn(known.changes, change)) return true;
  }
  return false;
}

}  // namespace allomon::gate
