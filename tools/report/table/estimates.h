// Estimates in words.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_
#define ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_

#include <string>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::views {

// What rows are of: a metric, in bytes or in blocks.
struct Measure {
  heap::Metric metric = heap::Metric::kLive;
  bool blocks = false;
};

// "alloc", "live", "peak", ...: as the option --metric has them.
const char* MetricName(heap::Metric metric);
// "allocated", "live", "live at the peak", ...: behind an amount.
const char* MetricPhrase(heap::Metric metric);

double ValueOf(const heap::Amount& amount, bool blocks);
heap::Interval IntervalOf(const heap::Estimate& estimate, bool blocks);

// "81.7 MiB"; "1,234,567".
std::string AmountText(double value, bool blocks);
// With a sign.
std::string SignedAmountText(double value, bool blocks);
// "79.9-83.6 MiB"; empty if the interval is its value alone.
std::string RangeText(const heap::Interval& interval, bool blocks);
// "36.6 MiB (34.9-38.4 MiB)".
std::string EstimateText(const heap::Estimate& estimate, bool blocks);

// `part` of `whole`; 0 if that is 0.
double PercentOf(double part, double whole);
std::string PercentText(double percent);

// "12.3 s", "250 ms", "2 h 5 min".
std::string SecondsText(double seconds);

// "1234 samples": with the plural's s unless `count` is 1.
std::string Counted(double count, const std::string& what);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_ESTIMATES_H_
