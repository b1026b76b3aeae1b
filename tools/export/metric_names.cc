#include "tools/export/metric_names.h"

namespace allomon::interchange {
namespace {

using heap::Metric;

constexpr const char* kNames[heap::kMetrics] = {"alloc",     "live",     "peak",
                                                "temporary", "promoted", "died-young"};

}  // namespace

const char* MetricName(Metric metric) { return kNames[static_cast<size_t>(metric)]; }

std::optional<Metric> MetricOf(std::string_view name) {
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (kNames[i] == name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

std::string MetricsOf(const heap::HeapProfile& profile) {
  std::string names;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) names += std::string(names.empty() ? "" : ", ") + kNames[i];
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
