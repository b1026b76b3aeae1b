#include "tools/report/table/estimates.h"

#include <algorithm>
#include <cmath>

#include "tools/text/amounts.h"

namespace allomon::views {
namespace {

constexpr double kMost = 1e30;  // larger than any machine allocates; fits MlmonInt

// Bounds a value, because files of other tools may contain anything.
double Bounded(double value) { return std::isfinite(value) ? std::clamp(value, -kMost, kMost) : 0; }

}  // namespace

const char* MetricPhrase(heap::Metric metric) {
  constexpr const char* kPhrases[] = {"allocated", "live",     "live at the peak",
                                      "temporary", "promoted", "died young"};
  return kPhrases[static_cast<size_t>(metric)];
}

std::string MetricOptions(const Measure& measure) {
  if (measure.blocks && measure.metric == heap::Metric::kAllocated) return " --metric=blocks";
  return std::string(" --metric=") + heap::MetricName(measure.metric) +
         (measure.blocks ? " --blocks" : "");
}

double ValueOf(const heap::Amount& amount, bool blocks) {
  return blocks ? amount.blocks : amount.bytes;
}

heap::Interval IntervalOf(const heap::Estimate& estimate, bool blocks) {
  return blocks ? heap::BlocksInterval(estimate) : heap::BytesInterval(estimate);
}

std::string AmountText(double value, bool blocks) {
  const auto rounded = static_cast<MlmonInt>(std::round(Bounded(value)));
  return blocks ? report::Exact(rounded) : report::Amount(ProfileKind::kAlloc, rounded);
}

std::string SignedAmountText(double value, bool blocks) {
  return (value > 0 ? "+" : "") + AmountText(value, blocks);
}

std::string RangeText(const heap::Interval& interval, bool blocks) {
  if (interval.low == interval.high) return "";
  std::string low = AmountText(interval.low, blocks);
  const std::string high = AmountText(interval.high, blocks);
  const size_t unit = low.rfind(' ');
  if (unit != std::string::npos && high.size() >= low.size() - unit &&
      high.compare(high.size() - (low.size() - unit), std::string::npos, low, unit) == 0) {
    low.resize(unit);
  }
  return low + "-" + high;
}

std::string EstimateText(const heap::Estimate& estimate, bool blocks) {
  const heap::Interval interval = IntervalOf(estimate, blocks);
  if (ValueOf(estimate.amount, blocks) == 0 && interval.high > 0) {
    return "at most " + AmountText(interval.high, blocks);
  }
  const std::string range = RangeText(interval, blocks);
  return AmountText(ValueOf(estimate.amount, blocks), blocks) +
         (range.empty() ? "" : " (" + range + ")");
}

double PercentOf(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

std::string PercentText(double percent) { return report::Percentage(Bounded(percent)); }

std::string Counted(double count, const std::string& what) {
  return AmountText(count, true) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace allomon::views
