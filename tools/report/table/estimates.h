// Formats estimates as text.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_
#define ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_

#include <string>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tools/text/amounts.h"

namespace allomon::views {

// The quantity of a report's rows: a metric, in bytes or in blocks.
struct Measure {
  heap::Metric metric = heap::Metric::kLive;
  bool blocks = false;
};

// Returns "allocated", "live", "live at the peak", ...: a phrase that can follow an amount.
const char* MetricPhrase(heap::Metric metric);

// Returns the options that choose this measure: " --metric=live --blocks".
std::string MetricOptions(const Measure& measure);

double ValueOf(const heap::Amount& amount, bool blocks);
heap::Interval IntervalOf(const heap::Estimate& estimate, bool blocks);

// Returns "81.7 MiB" or "1,234,567".
std::string AmountText(double value, bool blocks);
// The same with a sign.
std::string SignedAmountText(double value, bool blocks);
// Returns "79.9-83.6 MiB"; empty if the interval is a single value.
std::string RangeText(const heap::Interval& interval, bool blocks);
// Returns "36.6 MiB (34.9-38.4 MiB)"; "at most 300.1 KiB" where no sample was seen.
std::string EstimateText(const heap::Estimate& estimate, bool blocks);

// Returns `part` in percent of `whole`; 0 if `whole` is 0.
double PercentOf(double part, double whole);
std::string PercentText(double percent);

using report::SecondsText;

// Returns "1234 samples": with the plural's s unless `count` is 1.
std::string Counted(double count, const std::string& what);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_
