// One function for each export format.  README.md says which facts each format keeps and loses.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORTERS_H_
#define ALLOMON_TOOLS_EXPORT_EXPORTERS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tracker/formats/output_format.h"

namespace allomon::interchange {

using Exported = absl::StatusOr<OutputFiles>;

Exported ToPprof(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToCollapsed(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToSpeedscope(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToFirefox(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToCallgrind(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToDevtools(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToDhat(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToMassif(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToHeapV2(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToJemalloc(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToMlmon(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToOtlp(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToOtlpJson(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToPerfetto(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToPerfettoSeries(const std::vector<heap::HeapProfile>& profiles, heap::Metric metric);
Exported ToMemprof(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToCsv(const heap::HeapProfile& profile, heap::Metric metric);
Exported ToJson(const heap::HeapProfile& profile, heap::Metric metric);

// Returns a format's only file.
Exported OneFile(std::string bytes);

// ---- Helpers for the text of JSON files.

using Json = nlohmann::ordered_json;

// Returns one line.  Bytes that are not UTF-8 become U+FFFD.
inline std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORTERS_H_
