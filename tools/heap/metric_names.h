// Names of metrics: values of --metric, keys in files, labels on pages.
#ifndef ALLOMON_TOOLS_HEAP_METRIC_NAMES_H_
#define ALLOMON_TOOLS_HEAP_METRIC_NAMES_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

inline constexpr const char* kMetricNames[kMetrics] = {"alloc",     "live",     "peak",
                                                       "temporary", "promoted", "died-young"};

constexpr const char* MetricName(Metric metric) {
  return kMetricNames[static_cast<size_t>(metric)];
}

inline std::optional<Metric> MetricOf(std::string_view name) {
  for (size_t i = 0; i < kMetrics; ++i) {
    if (kMetricNames[i] == name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_METRIC_NAMES_H_
