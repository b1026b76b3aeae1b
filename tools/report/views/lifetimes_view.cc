#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/heap/rows.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/report/views/growth.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;

constexpr uint8_t kTemporaryLog2Bytes = 16;  // blocks that died before so much was allocated are
                                             // temporary
constexpr double kNanosPerSecond = 1e9;

// Freed blocks of a function, or of all functions.
struct Deaths {
  Estimate died;
  double temporary_bytes = 0;
  double other_thread_bytes = 0;
  AgeHistogram by_bytes = {};
  AgeHistogram by_nanos = {};

  void Add(const heap::AgeCell& cell, const Estimate& estimate) {
    died.Add(estimate);
    if (cell.log2_bytes < kTemporaryLog2Bytes) temporary_bytes += cell.amount.bytes;
    if (cell.other_thread) other_thread_bytes += cell.amount.bytes;
    by_nanos[AgeBucket(cell.log2_nanos)].Add(estimate);
    if (cell.log2_bytes == heap::kUnknownLog2) return;
    by_bytes[AgeBucket(cell.log2_bytes)].Add(estimate);
  }
};

// Returns "64 KiB"; "?" if the age of no block is known.
std::string BytesAge(double bytes) { return bytes > 0 ? AmountText(bytes, false) : "?"; }
std::string TimeAge(double nanos) { return SecondsText(nanos / kNanosPerSecond); }

class LifetimesView {
 public:
  explicit LifetimesView(const Scene& scene) : scene_(scene), numbers_(scene.stacks.names.size()) {
    for (const heap::Stack& stack : scene.stacks.stacks) AddStack(stack);
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.deaths.died.amount.bytes > b.deaths.died.amount.bytes;
    });
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
  }

  bool empty() const { return rows_.empty(); }

  Table Functions() const {
    Table table;
    table.key = "functions";
    AddNameColumns(&table);
    AddAmountColumns(DiedStyle(), &table);
    table.columns.push_back(
        {"median_bytes", "median, allocated meanwhile", Column::Kind::kNumber, kDropTotal});
    table.columns.push_back({"median_seconds", "median time"});
    table.columns.push_back({"temporary_percent", "temporary"});
    table.columns.push_back(
        {"other_thread_percent", "by others", Column::Kind::kNumber, kDropShare});
    for (size_t i = 0; i < rows_.size() - LeftOut(); ++i) table.rows.push_back(CellsOf(rows_[i]));
    table.left_out = LeftOut();
    return table;
  }

  // The rows of functions that are not shown.
  size_t LeftOut() const {
    return scene_.rows == 0 || rows_.size() <= scene_.rows ? 0 : rows_.size() - scene_.rows;
  }

  // The table has few rows: a class has all ages within a factor of two.
  Table Histogram() const {
    Table table;
    table.key = "lifetimes";
    table.columns = {{"", "lived from"}, {"least_nanos", ""}};
    AddAmountColumns(DiedStyle(), &table);
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    for (size_t i = 0; i < all_.by_nanos.size(); ++i) {
      const Estimate& estimate = all_.by_nanos[i];
      if (estimate.amount.bytes != 0) table.rows.push_back(AgeCells(i, estimate));
    }
    return table;
  }

 private:
  struct Row {
    uint32_t frame = 0;
    Deaths deaths;
  };

  // The rows, and the classes of ages, have each freed block once.
  bool RowsAddUp() const {
    heap::SumCheck rows, ages;
    for (const Row& row : rows_) rows.Add(row.deaths.died.amount);
    for (const Estimate& estimate : all_.by_nanos) ages.Add(estimate.amount);
    return rows.Is(all_.died.amount) && ages.Is(all_.died.amount);
  }

  Row& RowOf(const heap::Stack& stack) {
    const uint32_t frame = scene_.stacks.cells[stack.begin];
    size_t& number = numbers_[scene_.stacks.frames[frame].name];  // 0: no row; else index + 1
    if (number == 0) {
      rows_.emplace_back();
      rows_.back().frame = frame;
      number = rows_.size();
    }
    return rows_[number - 1];
  }

  void AddStack(const heap::Stack& stack) {
    const heap::Sample& sample = scene_.SampleOf(stack);
    if (sample.deaths.empty()) return;
    Row& row = RowOf(stack);
    const heap::Sampling sampling = heap::SamplingOf(*scene_.profile, heap::Metric::kTemporary);
    for (const heap::AgeCell& cell : sample.deaths) {
      const Estimate estimate = heap::EstimateOf(cell.amount, sample, sampling);
      row.deaths.Add(cell, estimate);
      all_.Add(cell, estimate);
    }
  }

  AmountStyle DiedStyle() const {
    return {"died", "died", "%", scene_.measure.blocks, scene_.HasIntervals(), kStays};
  }
  double Whole() const { return ValueOf(all_.died.amount, scene_.measure.blocks); }

  std::vector<Cell> CellsOf(const Row& row) const {
    const Deaths& deaths = row.deaths;
    const double bytes = deaths.died.amount.bytes;
    std::vector<Cell> cells;
    AddNameCells(scene_.stacks, row.frame, heap::IsSure(deaths.died), &cells);
    AddAmountCells(DiedStyle(), deaths.died, Whole(), &cells);
    const double median_bytes = MedianAge(deaths.by_bytes);
    const double median_nanos = MedianAge(deaths.by_nanos);
    cells.push_back(NumberCell(BytesAge(median_bytes), median_bytes));
    cells.push_back(NumberCell(TimeAge(median_nanos), median_nanos / kNanosPerSecond));
    for (const double part : {deaths.temporary_bytes, deaths.other_thread_bytes}) {
      cells.push_back(NumberCell(PercentText(PercentOf(part, bytes)), PercentOf(part, bytes)));
    }
    return cells;
  }

  std::vector<Cell> AgeCells(size_t log2, const Estimate& estimate) const {
    const double least = log2 == 0 ? 0 : std::exp2(static_cast<double>(log2));
    std::vector<Cell> cells = {TextCell(TimeAge(least)), DataCell(least)};
    AddAmountCells(DiedStyle(), estimate, Whole(), &cells);
    Cell bar;
    bar.own = PercentOf(ValueOf(estimate.amount, scene_.measure.blocks), Whole()) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  const Scene& scene_;
  std::vector<size_t> numbers_;
  std::vector<Row> rows_;
  Deaths all_;
};

}  // namespace

absl::Status AddLifetimes(const Scene& scene, Report* report) {
  const LifetimesView view(scene);
  if (view.empty() && !scene.stacks.stacks.empty()) {
    return absl::InvalidArgumentError(
        "no lifetimes are known: a recording has them (allomon run -- PROGRAM)");
  }
  report->tables.push_back(view.Functions());
  report->tables.push_back(view.Histogram());
  if (view.LeftOut() > 0) report->foot.push_back(LeftOutText(view.LeftOut(), "function"));
  return absl::OkStatus();
}

}  // namespace allomon::views
