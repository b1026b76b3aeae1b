#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/table/headline.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;

constexpr double kWordBytes = 8;

struct ThreadRow {
  std::string name;
  size_t threads = 0;
  Estimate chosen;     // estimate of the measure, from samples
  Estimate allocated;  // from the threads' own totals
  Estimate live;
  WordsError words;
};

// Gives a thread's total the variance of the thread's words, in proportion to the total's bytes,
// and a part of the blocks' variance of all threads, in proportion to the total's blocks.
Estimate WithVariance(const heap::Amount& unbounded, const heap::Thread& thread,
                      const Estimate& of_all) {
  const heap::Amount amount = heap::Bounded(unbounded);
  Estimate estimate;
  estimate.amount = amount;
  estimate.is_whole = of_all.is_whole;
  if (of_all.amount.blocks > 0) {
    const double share = amount.blocks / of_all.amount.blocks;
    estimate.blocks_variance = share * of_all.blocks_variance;
    estimate.blocks_third = share * of_all.blocks_third;
  }
  const double words_bytes = kWordBytes * thread.estimated_words;
  if (words_bytes <= 0 || amount.bytes <= 0) return estimate;
  const double slope = kWordBytes * kWordBytes * thread.estimated_words_variance / words_bytes;
  estimate.bytes_variance = amount.bytes * slope;
  estimate.bytes_third = estimate.bytes_variance * slope;
  return estimate;
}

class ThreadsView {
 public:
  explicit ThreadsView(const Scene& scene)
      : scene_(scene),
        all_allocated_(heap::EstimateOfAll(*scene.profile, heap::Metric::kAllocated)),
        all_live_(heap::EstimateOfAll(*scene.profile, heap::Metric::kLive)) {
    const std::vector<heap::Sample>& samples = scene.profile->samples;
    by_samples_ = std::any_of(samples.begin(), samples.end(), [&scene](const heap::Sample& sample) {
      return sample.thread < scene.profile->threads.size();
    });
    for (const heap::Thread& thread : scene.profile->threads) AddTotals(thread);
    for (size_t i = 0; i < scene.stacks.stacks.size(); ++i) AddSample(i);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [this](const ThreadRow& a, const ThreadRow& b) { return Key(a) > Key(b); });
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
  }

  bool empty() const { return rows_.empty(); }
  bool is_by_samples() const { return by_samples_; }

  // Totals of threads are the bytes that they allocated, and those of them that are live.
  bool Lacks(heap::Metric metric) const {
    return !by_samples_ && metric != heap::Metric::kAllocated && metric != heap::Metric::kLive;
  }

  Table Make() const {
    Table table;
    table.key = "threads";
    table.columns = {{"thread", "thread", Column::Kind::kName, kStays}, {"threads", "threads"}};
    for (const AmountStyle& style : Styles()) AddAmountColumns(style, &table);
    table.columns.push_back(
        {"exact_words", HasWords() ? "exact words" : "", Column::Kind::kNumber, kDropTotal});
    table.columns.push_back(
        {"error_percent", HasWords() ? "error" : "", Column::Kind::kNumber, kDropTotal});
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    for (const ThreadRow& row : rows_) table.rows.push_back(CellsOf(row));
    return table;
  }

 private:
  // Each thread is in one row, and rows have only samples that were selected.
  bool RowsAddUp() const {
    size_t threads = 0;
    Estimate chosen;
    for (const ThreadRow& row : rows_) {
      threads += row.threads;
      chosen.Add(row.chosen);
    }
    return threads == scene_.profile->threads.size() && heap::IsPartOf(chosen, scene_.selected);
  }

  ThreadRow& RowOf(const std::string& name) {
    const auto [place, is_new] = numbers_.emplace(name, rows_.size());
    if (is_new) {
      rows_.emplace_back();
      rows_.back().name = name;
    }
    ALLOMON_DCHECK_LT("inv.report.lengths", place->second, rows_.size());
    return rows_[place->second];
  }

  void AddTotals(const heap::Thread& thread) {
    ThreadRow& row = RowOf(thread.name.empty() ? "<unnamed>" : thread.name);
    ++row.threads;
    row.allocated.Add(WithVariance(thread.allocated, thread, all_allocated_));
    row.live.Add(WithVariance(thread.live, thread, all_live_));
    row.words.exact += thread.exact_words;
    row.words.estimated += thread.estimated_words;
    row.words.variance += thread.estimated_words_variance;
  }

  void AddSample(size_t i) {
    const uint32_t thread = scene_.SampleOf(scene_.stacks.stacks[i]).thread;
    if (thread >= scene_.profile->threads.size()) return;
    const std::string& name = scene_.profile->threads[thread].name;
    RowOf(name.empty() ? "<unnamed>" : name).chosen.Add(scene_.values[i]);
  }

  double Key(const ThreadRow& row) const {
    if (by_samples_) return Value(row.chosen);
    return IsOfLive() ? Value(row.live) : Value(row.allocated);
  }
  double Value(const Estimate& estimate) const {
    return ValueOf(estimate.amount, scene_.measure.blocks);
  }
  bool IsOfLive() const { return scene_.measure.metric == heap::Metric::kLive; }
  bool HasWords() const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [](const ThreadRow& row) { return row.words.exact > 0; });
  }

  std::vector<AmountStyle> Styles() const {
    const bool blocks = scene_.measure.blocks;
    const bool ranges = scene_.HasIntervals();
    if (by_samples_) {
      return {{"self", heap::MetricName(scene_.measure.metric), "%", blocks, ranges, kStays}};
    }
    AmountStyle allocated = {"allocated", "alloc", "alloc %", blocks, ranges, kStays};
    AmountStyle live = {"live", "live", "live %", blocks, ranges, kStays};
    return IsOfLive() ? std::vector<AmountStyle>{live, allocated}
                      : std::vector<AmountStyle>{allocated, live};
  }

  const Estimate& Of(const ThreadRow& row, const AmountStyle& style) const {
    if (style.key == "self") return row.chosen;
    return style.key == "live" ? row.live : row.allocated;
  }

  double Whole(const AmountStyle& style) const {
    if (style.key == "self") return Value(scene_.whole);
    double whole = 0;
    for (const ThreadRow& row : rows_) whole += Value(Of(row, style));
    return whole;
  }

  std::vector<Cell> CellsOf(const ThreadRow& row) const {
    std::vector<Cell> cells = {
        TextCell(row.name, Paint::kBold),
        NumberCell(row.threads == 1 ? "" : AmountText(Count(row), true), Count(row))};
    for (const AmountStyle& style : Styles()) {
      AddAmountCells(style, Of(row, style), Whole(style), &cells);
    }
    cells.push_back(NumberCell(AmountText(row.words.exact, true), row.words.exact));
    const std::string error =
        (row.words.Percent() > 0 ? "+" : "") + PercentText(row.words.Percent());
    cells.push_back(NumberCell(row.words.exact > 0 ? error : "", row.words.Percent(),
                               row.words.IsWithin() ? Paint::kPlain : Paint::kWarm));
    Cell bar;
    const AmountStyle first = Styles().front();
    bar.own = PercentOf(Value(Of(row, first)), Whole(first)) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  static double Count(const ThreadRow& row) { return static_cast<double>(row.threads); }

  const Scene& scene_;
  const Estimate all_allocated_;
  const Estimate all_live_;
  std::vector<ThreadRow> rows_;
  std::map<std::string, size_t> numbers_;
  bool by_samples_ = false;
};

}  // namespace

absl::Status AddThreads(const Scene& scene, Report* report) {
  const ThreadsView view(scene);
  if (view.empty()) {
    return absl::InvalidArgumentError(
        "no threads are known: a recording has them (allomon run -- PROGRAM)");
  }
  if (scene.IsOfChosen() && !view.is_by_samples()) {
    return absl::InvalidArgumentError(
        "samples do not say which thread made them, and threads have totals of all stacks: leave "
        "out --focus, --ignore and those of labels");
  }
  const heap::Metric metric = scene.measure.metric;
  if (view.Lacks(metric)) {
    const std::string lack =
        "samples do not say which thread made them, and threads have totals "
        "of what they allocated and of what is live, and none of what was " +
        std::string(MetricPhrase(metric));
    if (scene.options->metric.has_value()) {
      return absl::InvalidArgumentError(lack + ": choose --metric=alloc or live");
    }
    report->notes.push_back(lack);
  }
  report->tables.push_back(view.Make());
  return absl::OkStatus();
}

}  // namespace allomon::views
