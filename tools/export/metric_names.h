// The metrics of a profile.
#ifndef ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_
#define ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_

#include <optional>
#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Lists the metrics that the profile has, for a sentence: "alloc, live".
std::string MetricsOf(const heap::HeapProfile& profile);

// Returns live if the profile has it, else the profile's first metric; nullopt if it has no metric.
std::optional<heap::Metric> DefaultMetric(const heap::HeapProfile& profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_METRIC_NAMES_H_
