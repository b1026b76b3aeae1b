#include "tools/report/table/estimates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/text/amounts.h"

namespace allomon::views {
namespace {

constexpr double kMost = 1e30;  // larger than any machine allocates; fits MlmonInt

// Bounds a value, because files of other tools may contain anything.
double Bounded(double value) { return std::isfinite(value) ? std::clamp(value, -kMost, kMost) : 0; }

std::string Formatted(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string Whole(double value) { return Formatted("%.0f", value); }

}  // namespace

const char* MetricPhrase(heap::Metric metric) {
  constexpr const char* kPhrases[] = {"allocated", "live",     "live at the peak",
                                      "temporary", "promoted", "died young"};
  return kPhrases[static_cast<size_t>(metric)];
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
  const std::string range = RangeText(IntervalOf(estimate, blocks), blocks);
  return AmountText(ValueOf(estimate.amount, blocks), blocks) +
         (range.empty() ? "" : " (" + range + ")");
}

double PercentOf(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

std::string PercentText(double percent) { return report::Percentage(Bounded(percent)); }

std::string SecondsText(double seconds) {
  seconds = std::clamp(Bounded(seconds), 0.0, 1e15);
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return Formatted("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return Formatted("%.0f us", seconds * 1e6);
  if (seconds < 1) return Formatted("%.0f ms", seconds * 1e3);
  if (seconds < 60) return Formatted("%.1f s", seconds);
  const double minutes = std::floor(seconds / 60);
  if (minutes < 60) return Whole(minutes) + " min " + Whole(seconds - 60 * minutes) + " s";
  const double hours = std::floor(minutes / 60);
  return Whole(hours) + " h " + Whole(minutes - 60 * hours) + " min";
}

std::string Counted(double count, const std::string& what) {
  return AmountText(count, true) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace allomon::views
