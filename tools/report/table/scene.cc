#include "tools/report/table/scene.h"

#include "tools/heap/heap_profile.h"
#include "tools/heap/sum_check.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Metric;

double BytesOf(const heap::HeapProfile& profile, Metric metric) {
  double bytes = 0;
  for (const heap::Sample& sample : profile.samples) bytes += sample[metric].bytes;
  return bytes;
}

std::string MetricsOf(const heap::HeapProfile& profile) {
  std::string names;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (!profile.has[i]) continue;
    names += (names.empty() ? "" : ", ") + std::string(heap::MetricName(static_cast<Metric>(i)));
  }
  return names.empty() ? "nothing" : names;
}

std::string OriginOf(const heap::HeapProfile& profile) {
  return profile.origin.empty() ? "this file" : "this " + profile.origin + " file";
}

}  // namespace

Metric DefaultMetric(const heap::HeapProfile& profile) {
  const bool has_peak = Has(profile, Metric::kPeak);
  if (Has(profile, Metric::kLive)) {
    const double live = BytesOf(profile, Metric::kLive);
    if (has_peak ? 3 * live >= BytesOf(profile, Metric::kPeak) : live > 0) return Metric::kLive;
  }
  if (has_peak) return Metric::kPeak;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) return static_cast<Metric>(i);
  }
  return Metric::kAllocated;
}

absl::StatusOr<Measure> MeasureOf(const heap::HeapProfile& profile, const Options& options) {
  Measure measure = {options.metric.value_or(DefaultMetric(profile)), options.blocks};
  const bool is_of_live = options.view == View::kLeaks || options.view == View::kUnused ||
                          options.view == View::kPages || options.view == View::kAges ||
                          (options.view == View::kTypes && profile.knows_object_types);
  if (!options.metric.has_value() && is_of_live) measure.metric = Metric::kLive;
  if (!Has(profile, measure.metric) && !profile.samples.empty()) {
    return absl::InvalidArgumentError(OriginOf(profile) + " does not say what was " +
                                      MetricPhrase(measure.metric) + ": it has " +
                                      MetricsOf(profile));
  }
  if (measure.blocks && !profile.has_blocks) {
    return absl::InvalidArgumentError(OriginOf(profile) +
                                      " counts bytes and no blocks: choose a metric of bytes");
  }
  return measure;
}

Scene SceneOf(const heap::HeapProfile& profile, const Options& options, const Measure& measure) {
  Scene scene;
  scene.profile = &profile;
  scene.options = &options;
  scene.measure = measure;
  scene.stacks = heap::StacksOf(profile, options.selection);
  scene.values.reserve(scene.stacks.stacks.size());
  const heap::Sampling sampling = heap::SamplingOf(profile, measure.metric);
  for (const heap::Stack& stack : scene.stacks.stacks) {
    const heap::Sample& sample = scene.SampleOf(stack);
    scene.values.push_back(heap::EstimateOf(sample[measure.metric], sample, sampling));
    scene.selected.Add(scene.values.back());
  }
  scene.whole = heap::EstimateOfAll(profile, measure.metric);
  ALLOMON_DCHECK_EQ("inv.heap.rows", scene.values.size(), scene.stacks.stacks.size());
  ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(scene.selected, scene.whole));
  return scene;
}

}  // namespace allomon::views
