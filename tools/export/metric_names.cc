#include "tools/export/metric_names.h"

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

using heap::Metric;

std::string MetricsOf(const heap::HeapProfile& profile) {
  std::string names;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) names += std::string(names.empty() ? "" : ", ") + heap::kMetricNames[i];
  }
  return names;
}

std::optional<Metric> DefaultMetric(const heap::HeapProfile& profile) {
  if (Has(profile, Metric::kLive)) return Metric::kLive;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

}  // namespace allomon::interchange
