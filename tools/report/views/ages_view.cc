#include <cmath>
#include <string>
#include <vector>

#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/report/views/growth.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;

constexpr double kNanosPerSecond = 1e9;

struct Ages {
  Estimate live;
  AgeHistogram by_nanos = {};
  AgeHistogram by_bytes = {};
};

Ages AgesOf(const Scene& scene) {
  const heap::Sampling sampling = heap::SamplingOf(*scene.profile, heap::Metric::kLive);
  Ages ages;
  for (const heap::Stack& stack : scene.stacks.stacks) {
    const heap::Sample& sample = scene.SampleOf(stack);
    for (const heap::AgeCell& cell : sample.ages) {
      const Estimate estimate = heap::EstimateOf(cell.amount, sample, sampling);
      ALLOMON_DCHECK_LT("inv.report.bucket", AgeBucket(cell.log2_nanos), ages.by_nanos.size());
      ages.live.Add(estimate);
      ages.by_nanos[AgeBucket(cell.log2_nanos)].Add(estimate);
      if (cell.log2_bytes == heap::kUnknownLog2) continue;
      ages.by_bytes[AgeBucket(cell.log2_bytes)].Add(estimate);
    }
  }
  return ages;
}

double LeastOf(size_t log2) { return log2 == 0 ? 0 : std::exp2(static_cast<double>(log2)); }

AmountStyle LiveStyle(const Scene& scene) {
  return {"live", "live", "%", scene.measure.blocks, scene.HasIntervals(), kStays};
}

std::vector<Cell> CellsOf(const Scene& scene, const std::string& age, double least,
                          const Estimate& live, double whole) {
  std::vector<Cell> cells = {TextCell(age), DataCell(least)};
  AddAmountCells(LiveStyle(scene), live, whole, &cells);
  Cell bar;
  bar.own = PercentOf(ValueOf(live.amount, scene.measure.blocks), whole) / 100;
  bar.paint = PaintOf(100 * bar.own);
  cells.push_back(bar);
  return cells;
}

std::string TimeText(double nanos) { return SecondsText(nanos / kNanosPerSecond); }
std::string BytesText(double bytes) { return AmountText(bytes, false); }

// The table has few rows: a class has all ages within a factor of two.
Table TableOf(const Scene& scene, const AgeHistogram& histogram, const std::vector<Column>& age,
              std::string (*text)(double), double whole) {
  Table table;
  table.columns = age;
  AddAmountColumns(LiveStyle(scene), &table);
  table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i].amount.bytes == 0 && histogram[i].amount.blocks == 0) continue;
    table.rows.push_back(CellsOf(scene, text(LeastOf(i)), LeastOf(i), histogram[i], whole));
  }
  return table;
}

}  // namespace

absl::Status AddAges(const Scene& scene, Report* report) {
  const Ages ages = AgesOf(scene);
  const double whole = ValueOf(ages.live.amount, scene.measure.blocks);
  Table times =
      TableOf(scene, ages.by_nanos, {{"", "lives since"}, {"least_nanos", ""}}, TimeText, whole);
  if (times.rows.empty() && !scene.stacks.stacks.empty()) {
    return absl::InvalidArgumentError(
        "no ages are known: a recording has them (allomon run -- PROGRAM)");
  }
  Table bytes = TableOf(scene, ages.by_bytes, {{"", "allocated since"}, {"least_bytes", ""}},
                        BytesText, whole);
  times.key = "ages";
  bytes.key = "ages_by_bytes";
  report->tables.push_back(std::move(times));
  report->tables.push_back(std::move(bytes));
  return absl::OkStatus();
}

}  // namespace allomon::views
