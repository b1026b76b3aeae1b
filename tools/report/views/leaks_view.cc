#include "tools/report/views/leaks_view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/labels.h"
#include "tools/heap/rows.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/report/views/growth.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using heap::Metric;
using Row = heap::Row<Survivors>;

constexpr double kNanosPerSecond = 1e9;
constexpr double kNearlyAll = 0.9;
// A table that doubles, evenly filled, has done so in the last half of the run; ages are known to
// an eighth of a power of two.
constexpr double kMostStepInHalves = 1.25;
constexpr size_t kStacks = 3;
constexpr size_t kGrowthColumns = 4;

const char* VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnreachable:
      return "unreachable";
    case Verdict::kOutlived:
      return "outlived its scope";
    case Verdict::kGrows:
      return "grows";
    case Verdict::kSteps:
      return "grows in steps";
    case Verdict::kMayGrow:
      return "may grow";
    case Verdict::kFilled:
      return "filled";
    case Verdict::kSilent:
      return "no allocations in the window";
    case Verdict::kNew:
      return "new";
    case Verdict::kKept:
      return "kept";
    case Verdict::kTurnsOver:
      return "turns over";
    case Verdict::kInUse:
      return "in use";
    case Verdict::kUnknown:
      return "";
    case Verdict::kNoise:
      return "noise";
  }
  return "";
}

Estimate Scaled(const Estimate& estimate, double factor) {
  Estimate scaled = estimate;
  scaled.amount = {estimate.amount.blocks * factor, estimate.amount.bytes * factor};
  scaled.blocks_variance = estimate.blocks_variance * factor;
  scaled.bytes_variance = estimate.bytes_variance * factor;
  scaled.sampled = estimate.sampled * factor;
  scaled.blocks_third = estimate.blocks_third * factor;
  scaled.bytes_third = estimate.bytes_third * factor;
  return scaled;
}

// Returns the duration of the run; if it is not known, the greatest age.
double RunNanos(const heap::HeapProfile& profile) {
  if (profile.duration_seconds > 0) return profile.duration_seconds * kNanosPerSecond;
  double nanos = 0;
  for (const heap::Sample& sample : profile.samples) {
    for (const heap::AgeCell& cell : sample.ages) {
      nanos = std::max(nanos, std::exp2(static_cast<double>(cell.log2_nanos) + 1));
    }
  }
  return nanos;
}

// Whether all ages of live blocks are known to an eighth of a power of two.  An age below 2 ns
// has no eighth: the last block of a process that was killed has such a one.
bool HasEighths(const heap::HeapProfile& profile) {
  for (const heap::Sample& sample : profile.samples) {
    for (const heap::AgeCell& cell : sample.ages) {
      if (cell.eighth == 0 && cell.log2_nanos != 0) return false;
    }
  }
  return true;
}

Survivors SurvivorsOf(const heap::Sample& sample, const heap::Sampling& sampling,
                      const Generations& generations, bool is_steps) {
  Survivors survivors;
  survivors.live = heap::EstimateOf(sample[Metric::kLive], sample, sampling);
  survivors.allocated_bytes = sample[Metric::kAllocated].bytes;
  survivors.unreachable = heap::EstimateOf(sample.unreachable, sample, sampling);
  for (const heap::AgeCell& cell : sample.ages) {
    const Estimate estimate = heap::EstimateOf(cell.amount, sample, sampling);
    const double younger = YoungerShare(cell, generations.eighth_nanos);
    ALLOMON_DCHECK("inv.heap.probability", 0 <= younger && younger <= 1);
    survivors.old.Add(Scaled(estimate, 1 - younger));
    if (is_steps) {
      const double nanos = kMostStepInHalves * generations.half_nanos;
      survivors.steps_bytes += cell.amount.bytes;
      survivors.young_steps_bytes += cell.amount.bytes * YoungerShare(cell, nanos);
    } else {
      survivors.aged_bytes += cell.amount.bytes;
      survivors.young_bytes += cell.amount.bytes * YoungerShare(cell, generations.half_nanos);
    }
  }
  for (const heap::OutlivedCell& cell : sample.outlived) {
    if (!cell.is_innermost) continue;
    survivors.outlived.Add(heap::EstimateOf(cell.since_end.amount, sample, sampling));
  }
  if (is_steps) {
    survivors.old_steps_bytes = survivors.old.amount.bytes;
    return survivors;
  }
  survivors.growth.Add(sample, sampling, generations);
  for (const heap::AgeCell& cell : sample.deaths) {
    survivors.died_old_bytes +=
        cell.amount.bytes * (1 - YoungerShare(cell, generations.eighth_nanos));
  }
  return survivors;
}

// The stack begins with the function that is charged.
Site SiteOf(const heap::Stack& stack, const heap::Sample& sample) {
  const auto found = std::find(sample.stack.begin(), sample.stack.end(), stack.location);
  const auto frames = static_cast<size_t>(found - sample.stack.begin());
  return {&sample, std::min(frames + 1, sample.stack.size())};
}

// A unit of growth: bytes in so many seconds.
struct Unit {
  double seconds;
  const char* head;
};
constexpr Unit kUnits[] = {{1, "growth/s"}, {60, "growth/min"}, {3600, "growth/h"}};

Unit UnitOf(double run_nanos) {
  const double seconds = run_nanos / kNanosPerSecond;
  return kUnits[seconds < 600 ? 0 : seconds < 36'000 ? 1 : 2];
}

std::string SignedText(double bytes) {
  return bytes < 0 ? "-" + AmountText(-bytes, false) : AmountText(bytes, false);
}

std::string RangeText(const heap::Interval& interval, double seconds) {
  const heap::Interval scaled = {interval.low * seconds, interval.high * seconds};
  if (scaled.low >= 0) return views::RangeText(scaled, false);
  return "< " + SignedText(scaled.high);
}

class LeaksView {
 public:
  explicit LeaksView(const Scene& scene)
      : scene_(scene),
        generations_(GenerationsOf(RunNanos(*scene.profile), scene.profile->timeline,
                                   HasEighths(*scene.profile))) {
    const heap::Sampling sampling = heap::SamplingOf(*scene.profile, Metric::kLive);
    std::vector<Site> sites;
    for (const heap::Stack& stack : scene.stacks.stacks) {
      sites.push_back(SiteOf(stack, scene.SampleOf(stack)));
    }
    const std::vector<bool> steps = GrowInSteps(sites, sampling, generations_);
    std::vector<Survivors> values;
    values.reserve(sites.size());
    for (size_t i = 0; i < sites.size(); ++i) {
      values.push_back(SurvivorsOf(*sites[i].sample, sampling, generations_, steps[i]));
      has_ages_ = has_ages_ || values.back().aged_bytes + values.back().steps_bytes > 0;
      has_steps_ = has_steps_ || values.back().steps_bytes > 0;
    }
    const auto live = [](const Survivors& value) { return value.live.amount.bytes; };
    if (scene.options->by_label.empty()) {
      rows_ = heap::RowsOf(scene.stacks, values, heap::RowKey::kFunction, live);
    } else {
      AddRowsByLabel(values);
    }
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp(values));
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                               [](const Row& row) { return row.self.live.amount.bytes <= 0; }),
                rows_.end());
    std::stable_sort(rows_.begin(), rows_.end(),
                     [this](const Row& a, const Row& b) { return Comes(a, b); });
    ALLOMON_DCHECK("inv.report.order", IsInOrder());
  }

  void Add(Report* report) const {
    Table table;
    table.key = "leaks";
    AddColumns(&table);
    const size_t shown = scene_.rows == 0 ? rows_.size() : std::min(rows_.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(rows_[i]));
    table.left_out = rows_.size() - shown;
    report->tables.push_back(std::move(table));
    if (shown < rows_.size()) {
      report->foot.push_back(LeftOutText(rows_.size() - shown, IsByLabel() ? "value" : "function"));
    }
    AddStacks(&report->foot);
    if (has_ages_ && generations_.is_by_allocation) {
      report->foot.push_back(
          {"the program allocates in bursts: growth is a mean of the whole run, "
           "from blocks of ages with enough allocation",
           Paint::kDim});
    }
    if (has_steps_) {
      report->foot.push_back(
          {"growth is without tables that are copied when they grow", Paint::kDim});
    }
    AddFreedSincePeak(&report->foot);
    if (!has_ages_ && !rows_.empty()) {
      report->foot.push_back(
          {"no ages are known: what grew is not told from what is kept; a "
           "recording has ages (allomon run -- PROGRAM)",
           Paint::kDim});
    }
  }

 private:
  // A program that ends by itself frees its leaks, too.
  void AddFreedSincePeak(std::vector<TextLine>* foot) const {
    constexpr double kMostLeft = 0.25;
    if (!Has(*scene_.profile, Metric::kPeak)) return;
    const Estimate peak = heap::EstimateOfAll(*scene_.profile, Metric::kPeak);
    const Estimate live = heap::EstimateOfAll(*scene_.profile, Metric::kLive);
    if (!heap::IsSure(peak) || live.amount.bytes > kMostLeft * peak.amount.bytes) return;
    const double freed = peak.amount.bytes - live.amount.bytes;
    foot->push_back({PercentText(PercentOf(freed, peak.amount.bytes)) +
                         " of the peak was freed again: --metric=peak shows it, and report --leaks "
                         "PID a program before it ends",
                     Paint::kDim});
  }

  bool RowsAddUp(const std::vector<Survivors>& values) const {
    heap::SumCheck sum;
    for (const Row& row : rows_) sum.Add(row.self.live.amount);
    Estimate whole;
    for (const Survivors& value : values) whole.Add(value.live);
    return sum.Is(whole.amount);
  }
  bool IsInOrder() const {
    return std::is_sorted(rows_.begin(), rows_.end(),
                          [this](const Row& a, const Row& b) { return Comes(a, b); });
  }

  // Makes rows by value.  The `frame` of such a row is an index in label_values_.
  void AddRowsByLabel(const std::vector<Survivors>& values) {
    std::map<std::string_view, uint32_t> numbers;
    for (uint32_t i = 0; i < values.size(); ++i) {
      const heap::Sample& sample = scene_.SampleOf(scene_.stacks.stacks[i]);
      const std::string_view value = heap::LabelValue(sample, scene_.options->by_label);
      const auto number = static_cast<uint32_t>(rows_.size());
      const auto [place, is_new] = numbers.try_emplace(value, number);
      if (is_new) {
        label_values_.emplace_back(value);
        rows_.emplace_back().frame = number;
      }
      ALLOMON_DCHECK("inv.report.lengths",
                     place->second < rows_.size() && label_values_.size() == rows_.size());
      Row& row = rows_[place->second];
      row.self.Add(values[i]);
      if (values[i].live.amount.bytes <= row.best_weight) continue;
      row.best_weight = values[i].live.amount.bytes;
      row.best_stack = i;
    }
  }

  bool IsByLabel() const { return !scene_.options->by_label.empty(); }

  double Old(const Row& row) const {
    return has_ages_ ? row.self.old.amount.bytes : row.self.live.amount.bytes;
  }

  static int Rank(Verdict verdict) {
    switch (verdict) {
      case Verdict::kUnreachable:
        return 0;
      case Verdict::kOutlived:
        return 1;
      case Verdict::kGrows:
        return 2;
      case Verdict::kSteps:
        return 3;
      case Verdict::kMayGrow:
        return 4;
      case Verdict::kSilent:  // it may have grown
        return 5;
      case Verdict::kNoise:
        return 7;
      default:
        return 6;
    }
  }

  // Returns the bytes that rank rows of one verdict, before their old and their live bytes.
  double WeightOf(const Row& row, Verdict verdict) const {
    switch (verdict) {
      case Verdict::kUnreachable:
        return row.self.unreachable.amount.bytes;
      case Verdict::kOutlived:
        return row.self.outlived.amount.bytes;
      case Verdict::kGrows:
      case Verdict::kMayGrow:
        return RateOf(row.self.growth, generations_).bytes;
      case Verdict::kSteps:
        return row.self.steps_bytes;
      default:
        return 0;
    }
  }

  Verdict VerdictOf(const Survivors& survivors) const {
    return views::VerdictOf(survivors, generations_);
  }

  bool Comes(const Row& a, const Row& b) const {
    const Verdict verdict_a = VerdictOf(a.self), verdict_b = VerdictOf(b.self);
    if (Rank(verdict_a) != Rank(verdict_b)) return Rank(verdict_a) < Rank(verdict_b);
    const double weight_a = WeightOf(a, verdict_a), weight_b = WeightOf(b, verdict_b);
    if (weight_a != weight_b) return weight_a > weight_b;
    if (Old(a) != Old(b)) return Old(a) > Old(b);
    return a.self.live.amount.bytes > b.self.live.amount.bytes;
  }

  AmountStyle LiveStyle() const {
    return {"live", "live", "%", scene_.measure.blocks, scene_.HasIntervals(), kStays};
  }
  AmountStyle OldStyle() const {
    return {"old", has_ages_ ? "old" : "", "", scene_.measure.blocks, false, kDropTotal};
  }

  AmountStyle OutlivedStyle() const {
    return {"outlived", "outlived", "", scene_.measure.blocks, scene_.HasIntervals(), kStays};
  }

  AmountStyle UnreachableStyle() const {
    return {"unreachable", "unreachable", "", scene_.measure.blocks, scene_.HasIntervals(), kStays};
  }

  // Columns with a key are for programs, and have bytes per second.
  void AddGrowthColumns(Table* table) const {
    const bool has_range = has_ages_ && scene_.HasIntervals();
    table->columns.push_back({"growth", has_ages_ ? unit_.head : ""});
    table->columns.push_back({"", has_range ? "95 %" : "", Column::Kind::kNumber, kDropRange});
    table->columns.push_back({"growth_low", ""});
    table->columns.push_back({"growth_high", ""});
  }
  void AddGrowthCells(const Row& row, std::vector<Cell>* cells) const {
    const Survivors& self = row.self;
    const bool is_known = self.aged_bytes > 0 || !(self.steps_bytes > 0);
    const bool is_silent = generations_.is_silent && !SurelyGrows(self.growth, generations_);
    if (is_silent || !is_known) return cells->resize(cells->size() + kGrowthColumns);
    const GrowthRate rate = RateOf(self.growth, generations_);
    const double seconds = unit_.seconds;
    cells->push_back(NumberCell(SignedText(rate.bytes * seconds), rate.bytes));
    cells->push_back(TextCell(RangeText(rate.interval, seconds), Paint::kDim));
    cells->push_back(DataCell(rate.interval.low));
    cells->push_back(DataCell(rate.interval.high));
  }

  void AddColumns(Table* table) const {
    if (IsByLabel()) {
      table->columns = {{"value", scene_.options->by_label, Column::Kind::kCode, kStays}};
    } else {
      AddNameColumns(table);
    }
    AddAmountColumns(LiveStyle(), table);
    if (scene_.profile->knows_unreachable) AddAmountColumns(UnreachableStyle(), table);
    if (scene_.profile->has_ends) AddAmountColumns(OutlivedStyle(), table);
    AddAmountColumns(OldStyle(), table);
    AddGrowthColumns(table);
    table->columns.push_back(
        {"freed_percent", HasAllocated() ? "freed" : "", Column::Kind::kNumber, kDropShare});
    table->columns.push_back({"verdict", has_ages_ ? "what it does" : ""});
  }

  bool HasAllocated() const { return Has(*scene_.profile, Metric::kAllocated); }

  std::vector<Cell> CellsOf(const Row& row) const {
    const Survivors& self = row.self;
    const Verdict verdict = VerdictOf(self);
    std::vector<Cell> cells;
    AddRowName(row, verdict != Verdict::kNoise, &cells);
    AddAmountCells(LiveStyle(), self.live, ValueOf(scene_.whole.amount, scene_.measure.blocks),
                   &cells);
    if (scene_.profile->knows_unreachable) {
      AddAmountCells(UnreachableStyle(), self.unreachable, scene_.whole.amount.bytes, &cells);
    }
    if (scene_.profile->has_ends) {
      AddAmountCells(OutlivedStyle(), self.outlived, scene_.whole.amount.bytes, &cells);
    }
    AddAmountCells(OldStyle(), self.old, scene_.whole.amount.bytes, &cells);
    AddGrowthCells(row, &cells);
    const double freed = std::max(
        0.0, PercentOf(self.allocated_bytes - self.live.amount.bytes, self.allocated_bytes));
    cells.push_back(NumberCell(PercentText(freed), freed));
    const Paint paint = Rank(verdict) <= Rank(Verdict::kGrows) ? Paint::kHot : Paint::kPlain;
    cells.push_back(TextCell(VerdictText(verdict), paint));
    return cells;
  }

  void AddRowName(const Row& row, bool sure, std::vector<Cell>* cells) const {
    if (!IsByLabel()) return AddNameCells(scene_.stacks, row.frame, sure, cells);
    cells->push_back(TextCell(label_values_[row.frame], sure ? Paint::kBold : Paint::kDim));
  }

  std::string NameOf(const Row& row) const {
    if (!IsByLabel()) return NameInText(scene_, row.frame);
    return scene_.options->by_label + "=" + label_values_[row.frame];
  }

  void AddStacks(std::vector<TextLine>* lines) const {
    for (size_t i = 0; i < std::min(kStacks, rows_.size()); ++i) {
      if (i > 0 && Rank(VerdictOf(rows_[i].self)) > Rank(Verdict::kGrows)) break;
      if (rows_[i].best_stack == heap::kNone) continue;
      views::AddStack(scene_, rows_[i].best_stack,
                      AmountText(rows_[i].best_weight, false) + " of " + NameOf(rows_[i]) +
                          " live, asked for by",
                      lines);
    }
  }

  const Scene& scene_;
  const Generations generations_;
  const Unit unit_ = UnitOf(RunNanos(*scene_.profile));
  std::vector<Row> rows_;
  std::vector<std::string> label_values_;  // values of options.by_label
  bool has_ages_ = false;
  bool has_steps_ = false;
};

}  // namespace

void Survivors::Add(const Survivors& other) {
  live.Add(other.live);
  old.Add(other.old);
  outlived.Add(other.outlived);
  unreachable.Add(other.unreachable);
  steps_bytes += other.steps_bytes;
  old_steps_bytes += other.old_steps_bytes;
  young_steps_bytes += other.young_steps_bytes;
  young_bytes += other.young_bytes;
  aged_bytes += other.aged_bytes;
  died_old_bytes += other.died_old_bytes;
  allocated_bytes += other.allocated_bytes;
  growth.Add(other.growth);
}

Verdict VerdictOf(const Survivors& survivors, const Generations& generations) {
  if (!heap::IsSure(survivors.live)) return Verdict::kNoise;
  const bool has_unreachable = survivors.unreachable.amount.bytes > 0;
  if (has_unreachable && heap::IsSure(survivors.unreachable)) return Verdict::kUnreachable;
  const bool has_outlived = survivors.outlived.amount.bytes > 0;
  if (has_outlived && heap::IsSure(survivors.outlived)) return Verdict::kOutlived;
  if (survivors.steps_bytes > survivors.aged_bytes) {
    const double young = survivors.young_steps_bytes / survivors.steps_bytes;
    if (young >= 1 - kNearlyAll) return Verdict::kSteps;
    return SurelyGrows(survivors.growth, generations) ? Verdict::kGrows : Verdict::kKept;
  }
  if (!(survivors.aged_bytes > 0)) return Verdict::kUnknown;
  const double young = survivors.young_bytes / survivors.aged_bytes;
  const double live = survivors.live.amount.bytes;
  if (young > kNearlyAll) {
    return 2 * live > survivors.allocated_bytes ? Verdict::kNew : Verdict::kInUse;
  }
  const double old = survivors.old.amount.bytes - survivors.old_steps_bytes;
  if (4 * survivors.died_old_bytes > old) return Verdict::kTurnsOver;
  if (young < 1 - kNearlyAll) return Verdict::kKept;
  // A large part of all may have been allocated at once: memory that is set up at the start.
  if (generations.is_silent) {
    return SurelyGrows(survivors.growth, generations) ? Verdict::kGrows : Verdict::kSilent;
  }
  if (HasStopped(survivors.growth, generations)) return Verdict::kFilled;
  const bool is_sure = RateOf(survivors.growth, generations).interval.low > 0;
  return is_sure ? Verdict::kGrows : Verdict::kMayGrow;
}

void AddLeaks(const Scene& scene, Report* report) { LeaksView(scene).Add(report); }

}  // namespace allomon::views
