#include "tools/report/views/diff_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/heap/computed_label.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/heap/missing.h"
#include "tools/report/table/cells.h"
#include "tools/report/table/headline.h"
#include "tools/report/views/changes.h"
#include "tools/text/names.h"
#include "tools/text/shell_word.h"

namespace allomon::views {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr size_t kMostPath = 3;  // callers named in a row of a tree

const char* OutcomeText(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSame:
      return "same";
    case Outcome::kNoise:
      return "noise";
    case Outcome::kSlight:
      return "slight";
    case Outcome::kGrew:
      return "grew";
    case Outcome::kShrank:
      return "shrank";
    case Outcome::kNew:
      return "new";
    case Outcome::kGone:
      return "gone";
    case Outcome::kUnknown:
      return "";
  }
  return "";
}

Paint PaintOfOutcome(Outcome outcome) {
  if (outcome == Outcome::kGrew || outcome == Outcome::kNew) return Paint::kHot;
  if (outcome == Outcome::kShrank || outcome == Outcome::kGone) return Paint::kShrunk;
  return outcome == Outcome::kUnknown ? Paint::kPlain : Paint::kDim;
}

std::string PText(double p) {
  char text[32];
  if (p < 1e-99) return "<1e-99";
  snprintf(text, sizeof text, p < 1e-3 ? "%.0e" : "%.3f", p);
  return text;
}

std::string DifferenceRange(const heap::Interval& interval, bool blocks) {
  if (interval.low == interval.high) return "";
  return SignedAmountText(interval.low, blocks) + " to " + SignedAmountText(interval.high, blocks);
}

class DiffView {
 public:
  DiffView(const HeapProfile& before, const HeapProfile& after, const Options& options,
           const Space& space, const Measure& measure)
      : before_(before),
        after_(after),
        options_(options),
        space_(space),
        measure_(measure),
        view_(options.view.value_or(View::kFunctions)),
        changes_(ChangesOf(before, after, options, measure, view_)) {}

  Difference Make() {
    Difference difference;
    AddHead(&difference.report);
    AddFacts(&difference.report);
    difference.report.tables.push_back(Rows());
    AddNext(&difference.report);
    if (changes_.rows.empty()) difference.report.foot.push_back({"nothing is in either", {}});
    difference.is_testable = HasTests();
    difference.grew =
        std::any_of(changes_.rows.begin(), changes_.rows.end(), [](const Change& change) {
          return change.outcome == Outcome::kGrew || change.outcome == Outcome::kNew;
        });
    return difference;
  }

 private:
  bool HasTests() const { return changes_.comparison.IsTestable(); }
  bool IsExact() const {
    return changes_.comparison.before.IsExact() && changes_.comparison.after.IsExact();
  }

  size_t Marked() const {
    return static_cast<size_t>(
        std::count_if(changes_.rows.begin(), changes_.rows.end(),
                      [](const Change& change) { return change.IsMarked(); }));
  }

  std::string Summary(Metric metric, const heap::ChangeSums& whole, bool has_range) const {
    const double difference = heap::Difference(whole, measure_.blocks);
    const std::string range =
        has_range
            ? DifferenceRange(heap::DifferenceInterval(whole, measure_.blocks), measure_.blocks)
            : "";
    return std::string(measure_.blocks ? "blocks " : "bytes ") + MetricPhrase(metric) + ": " +
           SignedAmountText(difference, measure_.blocks) +
           (range.empty() ? "" : " (" + range + ")");
  }

  std::string Judgement() const {
    if (!HasTests()) {
      return changes_.comparison.IsWhole()
                 ? "the rate of sampling is not known of both: differences may be chance, and have "
                   "no intervals"
                 : "something is not in a recording, for want of room: differences may be that, "
                   "and "
                   "have no intervals";
    }
    const auto rows = static_cast<double>(changes_.rows.size());
    const std::string marked = Counted(static_cast<double>(Marked()), "row") + " of " +
                               AmountText(rows, true) + " changed";
    if (IsExact()) return marked + ", by 1 % or more of itself; every block was counted";
    return marked + "; two runs that are equal mark any row once in 1,000 times";
  }

  void AddHead(Report* report) const {
    report->head.push_back({"before  " + TitleOf(before_, {options_.files[0]}), Paint::kBold});
    report->head.push_back({"        " + TotalsText(before_), Paint::kDim});
    report->head.push_back({"after   " + TitleOf(after_, {options_.files[1]}), Paint::kBold});
    report->head.push_back({"        " + TotalsText(after_), Paint::kDim});
    report->head.push_back({Summary(measure_.metric, changes_.whole, HasTests()), Paint::kBold});
    report->head.push_back({Judgement(), Paint::kPlain});
    for (const OtherChange& other : changes_.others) {
      report->head.push_back(
          {Summary(other.metric, other.sums, true) +
               ", which is no chance: --metric=" + heap::MetricName(other.metric) + " shows where",
           Paint::kWarm});
    }
    for (const HeapProfile* profile : {&before_, &after_}) {
      for (const std::string& note : profile->notes) report->notes.push_back(note);
      const std::string missing = heap::MissingText(profile->missing);
      if (!missing.empty()) report->notes.push_back(missing);
    }
  }

  void AddFacts(Report* report) const {
    const auto add = [report](const char* key, Data data) {
      report->facts.push_back({key, std::move(data)});
    };
    AddFormat("diff", view_, report);
    add("before", options_.files[0]);
    add("after", options_.files[1]);
    add("metric", std::string(heap::MetricName(measure_.metric)));
    add("unit", std::string(measure_.blocks ? "blocks" : "bytes"));
    add("rate_before", before_.rate);
    add("rate_after", after_.rate);
    add("difference", heap::Difference(changes_.whole, measure_.blocks));
    add("marked_rows", static_cast<double>(Marked()));
    add("rows", static_cast<double>(changes_.rows.size()));
  }

  // Lines below functions and trees; of a function that has changed most, its callers.
  void AddNext(Report* report) const {
    const std::string files = ShellWord(options_.files[0]) + " " + ShellWord(options_.files[1]);
    const std::string options = SelectingOptions(options_) + MetricOptions(measure_);
    if (Marked() == 0) return;
    const char* const view = view_ == View::kFunctions ? "callers" : "lines";
    if (view_ != View::kLines) {
      report->next.push_back("allomon diff " + files + options + " --view=" + view + " --json");
    }
    report->next.push_back("allomon report " + ShellWord(options_.files[1]) + options +
                           " --view=tree --json");
  }

  const char* Key() const {
    if (view_ == View::kLines) return "lines";
    if (view_ == View::kTree) return "tree";
    return view_ == View::kCallers ? "callers" : "functions";
  }

  AmountStyle Style(const char* key) const {
    return {key, key, "", measure_.blocks, false, kDropTotal};
  }

  Table Rows() const {
    Table table;
    table.key = Key();
    AddNameColumns(&table);
    if (view_ == View::kTree || view_ == View::kCallers) {
      table.columns[0].kind = Column::Kind::kChain;
    }
    AddAmountColumns(Style("before"), &table);
    AddAmountColumns(Style("after"), &table);
    table.columns.push_back({"difference", "change"});
    table.columns.push_back(
        {"", HasTests() && !IsExact() ? "95 %" : "", Column::Kind::kNumber, kDropRange});
    table.columns.push_back({"difference_low", ""});
    table.columns.push_back({"difference_high", ""});
    table.columns.push_back({"growth_percent", "%", Column::Kind::kNumber, kDropShare});
    table.columns.push_back(
        {"p_value", HasTests() && !IsExact() ? "p" : "", Column::Kind::kNumber, kDropPlace});
    table.columns.push_back({"outcome", HasTests() ? "so it" : ""});
    const bool for_people = options_.format == Format::kTable;
    size_t left = 0;
    for (const Change& change : changes_.rows) {
      if (for_people && change.difference == 0) continue;
      if (space_.rows != 0 && table.rows.size() >= space_.rows) {
        ++left;
        continue;
      }
      table.rows.push_back(CellsOf(change));
    }
    if (left > 0) {
      std::vector<Cell> more(table.columns.size());
      more[0] = TextCell(MoreText(left, "row"), Paint::kDim);
      table.AddRest(std::move(more), left);
    }
    return table;
  }

  // Appends the callers or callees that lead to a node of a tree.
  std::string NameOf(const Change& change) const {
    std::string text = changes_.stacks.NameOf(change.frame).text;
    if (change.node == 0) return text;
    const auto& nodes = changes_.tree.nodes;
    uint32_t node = nodes[change.node].parent;
    for (size_t i = 0; i < kMostPath && node != 0; ++i, node = nodes[node].parent) {
      const std::string& next = changes_.stacks.NameOf(nodes[node].frame).text;
      text += (view_ == View::kTree ? " < " : " > ") + report::ClassAndFunction(next);
    }
    return text;
  }

  std::string GrowthText(const Change& change) const {
    const double before = ValueOf(change.sums.before.amount, measure_.blocks);
    if (before == 0) return "";
    const double percent = PercentOf(change.difference, before);
    return (percent > 0 ? "+" : "") + PercentText(percent);
  }

  std::vector<Cell> CellsOf(const Change& change) const {
    const bool blocks = measure_.blocks;
    std::vector<Cell> cells;
    AddNameCells(changes_.stacks, change.frame, change.IsMarked() || !HasTests(), &cells);
    cells[0].shown = NameOf(change);
    cells[0].data = cells[0].shown;
    AddAmountCells(Style("before"), change.sums.before, 0, &cells);
    AddAmountCells(Style("after"), change.sums.after, 0, &cells);
    const Paint paint = PaintOfOutcome(change.outcome);
    const heap::Interval interval = heap::DifferenceInterval(change.sums, blocks);
    cells.push_back(
        NumberCell(SignedAmountText(change.difference, blocks), change.difference, paint));
    cells.push_back(TextCell(DifferenceRange(interval, blocks), Paint::kDim));
    cells.push_back(HasTests() ? DataCell(interval.low) : Cell());
    cells.push_back(HasTests() ? DataCell(interval.high) : Cell());
    const double before = ValueOf(change.sums.before.amount, blocks);
    cells.push_back({GrowthText(change),
                     before == 0 ? Data() : Data(PercentOf(change.difference, before)), paint});
    cells.push_back(HasTests() ? NumberCell(PText(change.p_value), change.p_value, Paint::kDim)
                               : Cell());
    cells.push_back(TextCell(OutcomeText(change.outcome), paint));
    return cells;
  }

  const HeapProfile& before_;
  const HeapProfile& after_;
  const Options& options_;
  const Space& space_;
  const Measure measure_;
  const View view_;
  const Changes changes_;
};

absl::Status Bad(const std::string& line) { return absl::InvalidArgumentError(line); }

// Returns a metric that both profiles have: the default of a report on `after` if `before` has it.
absl::StatusOr<Measure> CommonMeasure(const HeapProfile& before, const HeapProfile& after,
                                      Options options) {
  if (!options.metric.has_value()) {
    options.metric = DefaultMetric(after);
    for (size_t i = 0; i < heap::kMetrics && !Has(before, *options.metric); ++i) {
      if (before.has[i] && after.has[i]) options.metric = static_cast<Metric>(i);
    }
  }
  const auto measure = MeasureOf(before, options);
  if (!measure.ok()) return Bad(options.files[0] + ": " + std::string(measure.status().message()));
  const auto other = MeasureOf(after, options);
  if (!other.ok()) return Bad(options.files[1] + ": " + std::string(other.status().message()));
  return measure;
}

// Adds the label's value as the outermost frame.  If no view is chosen, it becomes the only frame.
void AddLabelFrames(const Options& options, HeapProfile* profile) {
  if (options.view.has_value()) {
    heap::AddLabelFrames(options.by_label, profile);
  } else {
    heap::ReplaceByLabelFrames(options.by_label, profile);
  }
}

bool IsCompared(View view) {
  return view == View::kFunctions || view == View::kLines || view == View::kTree ||
         view == View::kCallers;
}

}  // namespace

absl::StatusOr<Difference> DifferenceOf(const HeapProfile& before, const HeapProfile& after,
                                        const Options& options, const Space& space) {
  if (!IsCompared(options.view.value_or(View::kFunctions))) {
    return Bad("profiles are compared by --view=functions, tree, callers or lines");
  }
  const auto measure = CommonMeasure(before, after, options);
  if (!measure.ok()) return measure.status();
  if (options.by_label.empty()) {
    return DiffView(before, after, options, space, *measure).Make();
  }
  HeapProfile labelled_before = before;
  HeapProfile labelled_after = after;
  heap::AddComputedLabel(options.by_label, &labelled_before);
  heap::AddComputedLabel(options.by_label, &labelled_after);
  if (!heap::HasLabel(labelled_before, options.by_label) &&
      !heap::HasLabel(labelled_after, options.by_label)) {
    return Bad(options.files[1] + ": " + heap::NoSuchLabel(after, options.by_label));
  }
  AddLabelFrames(options, &labelled_before);
  AddLabelFrames(options, &labelled_after);
  return DiffView(labelled_before, labelled_after, options, space, *measure).Make();
}

}  // namespace allomon::views
