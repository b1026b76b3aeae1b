#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using heap::Metric;

constexpr Metric kShown[] = {Metric::kLive, Metric::kPeak, Metric::kAllocated};

struct ValueRow {
  std::string value;
  std::array<Estimate, heap::kMetrics> amounts;  // by metric
};

class LabelsView {
 public:
  explicit LabelsView(const Scene& scene) : scene_(scene) {
    metrics_ = {scene.measure.metric};
    for (const Metric metric : kShown) {
      if (metric != metrics_[0] && Has(*scene.profile, metric)) metrics_.push_back(metric);
    }
    for (const Metric metric : metrics_) {
      wholes_.push_back(heap::EstimateOfAll(*scene.profile, metric));
    }
    for (const heap::Stack& stack : scene.stacks.stacks) Add(scene.SampleOf(stack));
    std::stable_sort(rows_.begin(), rows_.end(), [this](const ValueRow& a, const ValueRow& b) {
      return scene_.options->sort == SortKey::kName ? a.value < b.value : Key(a) > Key(b);
    });
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
  }

  Table Make() const {
    Table table;
    table.key = "labels";
    table.columns = {{"value", scene_.options->by_label, Column::Kind::kCode, kStays}};
    for (const Metric metric : metrics_) AddAmountColumns(StyleOf(metric), &table);
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    const size_t shown = scene_.rows == 0 ? rows_.size() : std::min(rows_.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(rows_[i]));
    if (shown < rows_.size()) table.AddRest(Rest(shown), rows_.size() - shown);
    return table;
  }

 private:
  bool RowsAddUp() const {
    heap::SumCheck sum;
    for (const ValueRow& row : rows_) sum.Add(Of(row, metrics_[0]).amount);
    return sum.Is(scene_.selected.amount);
  }

  void Add(const heap::Sample& sample) {
    const std::string_view value = heap::LabelValue(sample, scene_.options->by_label);
    const auto [place, is_new] = numbers_.try_emplace(std::string(value), rows_.size());
    if (is_new) rows_.push_back({place->first, {}});
    ValueRow& row = rows_[place->second];
    for (const Metric metric : metrics_) {
      Of(&row, metric)
          .Add(heap::EstimateOf(sample[metric], sample, heap::SamplingOf(*scene_.profile, metric)));
    }
  }

  static Estimate& Of(ValueRow* row, Metric metric) {
    return row->amounts[static_cast<size_t>(metric)];
  }
  static const Estimate& Of(const ValueRow& row, Metric metric) {
    return row.amounts[static_cast<size_t>(metric)];
  }
  double Value(const Estimate& estimate) const {
    return ValueOf(estimate.amount, scene_.measure.blocks);
  }
  double Key(const ValueRow& row) const { return Value(Of(row, metrics_[0])); }

  AmountStyle StyleOf(Metric metric) const {
    const bool is_first = metric == metrics_[0];
    return {heap::MetricName(metric), heap::MetricName(metric), is_first ? "%" : "",
            scene_.measure.blocks,    scene_.HasIntervals(),    is_first ? kStays : kDropTotal};
  }

  void AddAmounts(const ValueRow& row, std::vector<Cell>* cells) const {
    for (size_t i = 0; i < metrics_.size(); ++i) {
      AddAmountCells(StyleOf(metrics_[i]), Of(row, metrics_[i]), Value(wholes_[i]), cells);
    }
  }

  std::vector<Cell> CellsOf(const ValueRow& row) const {
    const bool is_sure = heap::IsSure(Of(row, metrics_[0]));
    std::vector<Cell> cells = {TextCell(row.value, is_sure ? Paint::kBold : Paint::kDim)};
    AddAmounts(row, &cells);
    Cell bar;
    bar.own = PercentOf(Key(row), Value(scene_.whole)) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  std::vector<Cell> Rest(size_t shown) const {
    ValueRow rest;
    for (size_t i = shown; i < rows_.size(); ++i) {
      for (const Metric metric : metrics_) Of(&rest, metric).Add(Of(rows_[i], metric));
    }
    std::vector<Cell> cells = {TextCell(MoreText(rows_.size() - shown, "value"), Paint::kDim)};
    AddAmounts(rest, &cells);
    cells.emplace_back();
    return cells;
  }

  const Scene& scene_;
  std::vector<Metric> metrics_;   // in the order of columns
  std::vector<Estimate> wholes_;  // of the profile, by metrics_
  std::vector<ValueRow> rows_;
  std::map<std::string, size_t> numbers_;
};

}  // namespace

void AddLabels(const Scene& scene, Report* report) {
  report->tables.push_back(LabelsView(scene).Make());
}

}  // namespace allomon::views
