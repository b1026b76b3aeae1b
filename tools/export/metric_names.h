// What metrics are called on the command line and in files.
#ifndef ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_
#define ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// "alloc", "live", "peak", "temporary", "promoted", "died-young".
const char* MetricName(heap::Metric metric);
std::optional<heap::Metric> MetricOf(std::string_view name);

// Those that the profile has, for a sentence: "alloc, live".
std::string MetricsOf(const heap::HeapProfile& profile);

// Live if the profile has it, else the first that it has; none if it has none.
std::optional<heap::Metric> DefaultMetric(const heap::HeapProfile& profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_
