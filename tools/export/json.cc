// Writes all of a heap profile as JSON.  README.md, "JSON", has the members.
#include <string>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/heap/computed_label.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/missing.h"
#include "tools/text/numbers.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;

template <typename Value, typename ToJson>
Json ArrayOf(const std::vector<Value>& values, ToJson to_json) {
  Json array = Json::array();
  for (const Value& value : values) array.push_back(to_json(value));
  return array;
}

Json NumberOrNull(uint32_t number) { return number == heap::kNone ? Json(nullptr) : Json(number); }

Json AmountJson(const heap::Amount& amount) {
  return {{"blocks", amount.blocks}, {"bytes", amount.bytes}};
}

Json AgeJson(const heap::AgeCell& cell) {
  const bool is_known = cell.log2_bytes != heap::kUnknownLog2;
  return {{"log2_bytes", is_known ? Json(cell.log2_bytes) : Json(nullptr)},
          {"log2_nanos", cell.log2_nanos},
          {"other_thread", cell.other_thread},
          {"eighth", cell.eighth == 0 ? Json(nullptr) : Json(cell.eighth)},
          {"blocks", cell.amount.blocks},
          {"bytes", cell.amount.bytes}};
}

Json SizeJson(const heap::SizeCell& cell) {
  return {{"size_bytes", cell.size_bytes},
          {"is_mean", cell.is_mean},
          {"blocks", cell.amount.blocks},
          {"bytes", cell.amount.bytes}};
}

Json OutlivedJson(const heap::OutlivedCell& cell) {
  Json json = AgeJson(cell.since_end);
  json["label"] = cell.label;
  json["is_innermost"] = cell.is_innermost;
  return json;
}

Json LabelsJson(const std::vector<heap::Label>& labels) {
  return ArrayOf(labels, [](const heap::Label& label) -> Json {
    return {{"key", label.key}, {"value", label.value}};
  });
}

Json SourceJson(heap::Source source) {
  if (source == heap::Source::kUnknown) return nullptr;
  return heap::SourceName(source);
}

Json SampleJson(const HeapProfile& profile, const heap::Sample& sample) {
  Json json = {{"stack", sample.stack},
               {"size_bytes", sample.has_size ? Json(sample.size_bytes) : Json(nullptr)},
               {"has_header", sample.has_header},
               {"source", SourceJson(sample.source)},
               {"thread", NumberOrNull(sample.thread)},
               {"labels", LabelsJson(sample.labels)}};
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i])
      json[heap::MetricName(static_cast<Metric>(i))] = AmountJson(sample.amounts[i]);
  }
  json["deaths"] = ArrayOf(sample.deaths, AgeJson);
  json["ages"] = ArrayOf(sample.ages, AgeJson);
  json["sizes"] = ArrayOf(sample.sizes, SizeJson);
  json["outlived"] = ArrayOf(sample.outlived, OutlivedJson);
  return json;
}

Json LineJson(const heap::Line& line) {
  return {{"function", line.function}, {"line", line.line}, {"column", line.column}};
}

Json LocationJson(const heap::Location& location) {
  return {{"address", "0x" + Hexadecimal(location.address)},
          {"mapping", NumberOrNull(location.mapping)},
          {"lines", ArrayOf(location.lines, LineJson)},
          {"new_type", location.new_type}};
}

Json FunctionJson(const heap::Function& function) {
  return {{"name", function.name},
          {"linker_name", function.linker_name},
          {"file", function.file},
          {"start_line", function.start_line}};
}

Json MappingJson(const heap::Mapping& mapping) {
  return {{"begin", "0x" + Hexadecimal(mapping.begin)},
          {"end", "0x" + Hexadecimal(mapping.end)},
          {"file_offset", "0x" + Hexadecimal(mapping.file_offset)},
          {"path", mapping.path},
          {"build_id", mapping.build_id}};
}

Json ThreadJson(const heap::Thread& thread) {
  return {{"name", thread.name},
          {"tid", thread.tid},
          {"exact_words", thread.exact_words},
          {"estimated_words", thread.estimated_words},
          {"estimated_words_variance", thread.estimated_words_variance},
          {"alloc", AmountJson(thread.allocated)},
          {"live", AmountJson(thread.live)}};
}

Json PointJson(const heap::TimelinePoint& point) {
  return {
      {"seconds", point.seconds},
      {"alloc_bytes", point.allocated_bytes},
      {"live_bytes", point.live_bytes},
      {"most_live_bytes", point.most_live_bytes},
      {"resident_bytes", point.resident_bytes > 0 ? Json(point.resident_bytes) : Json(nullptr)}};
}

Json HeadJson(const HeapProfile& profile) {
  Json metrics = Json::array();
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (profile.has[i]) metrics.push_back(heap::MetricName(static_cast<Metric>(i)));
  }
  Json json = {{"format", "allomon heap profile"},
               {"version", 1},
               {"creator", std::string("allomon ") + kVersion},
               {"origin", profile.origin},
               {"metrics", std::move(metrics)},
               {"has_blocks", profile.has_blocks},
               {"is_sum", profile.is_sum},
               {"rate", profile.rate},
               {"has_halves", profile.has_halves},
               {"has_ends", profile.has_ends},
               {"seed", profile.seed},
               {"program", profile.program},
               {"allocator", profile.allocator},
               {"malloc_file", profile.malloc_file},
               {"command", profile.command},
               {"pid", profile.pid},
               {"start_unix_nanos", profile.start_unix_nanos},
               {"duration_seconds", profile.duration_seconds},
               {"peak_seconds", profile.peak_seconds},
               {"notes", profile.notes}};
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    json[kind.key] = profile.missing.*kind.count;
  }
  if (profile.memory.resident_bytes != 0) {
    json["resident_bytes"] = profile.memory.resident_bytes;
    json["most_resident_bytes"] = profile.memory.most_resident_bytes;
  }
  return json;
}

}  // namespace

Exported ToJson(const HeapProfile& profile, Metric /*metric*/) {
  Json json = HeadJson(profile);
  json["functions"] = ArrayOf(profile.functions, FunctionJson);
  json["mappings"] = ArrayOf(profile.mappings, MappingJson);
  json["locations"] = ArrayOf(profile.locations, LocationJson);
  json["threads"] = ArrayOf(profile.threads, ThreadJson);
  json["timeline"] = ArrayOf(profile.timeline, PointJson);
  json["samples"] = ArrayOf(profile.samples, [&profile](const heap::Sample& sample) {
    return SampleJson(profile, sample);
  });
  return OneFile(JsonText(json));
}

}  // namespace allomon::interchange
