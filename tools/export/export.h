// The export formats of heap profiles.  A new format takes a file that defines its function, and a
// line in export.cc.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORT_H_
#define ALLOMON_TOOLS_EXPORT_EXPORT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tracker/formats/output_format.h"

namespace allomon::interchange {

// Functions of the profile alone.  They fail with one line if the format cannot hold the profile.
// The profile must have the metric; formats with several metrics put it first.
using ExportFunction = absl::StatusOr<OutputFiles> (*)(const heap::HeapProfile& profile,
                                                       heap::Metric metric);

// The same for several profiles that do not add up, such as copies of one recording in time.
using SeriesFunction = absl::StatusOr<OutputFiles> (*)(
    const std::vector<heap::HeapProfile>& profiles, heap::Metric metric);

struct ExportFormat {
  const char* name;
  const char* summary;    // programs that read the format
  const char* extension;  // of the format's files
  ExportFunction run;
  bool is_text = true;
  SeriesFunction run_series = nullptr;  // of formats that have times: several files are no sum
};

const std::vector<ExportFormat>& ExportFormats();

// Runs the format's function.  Fails if the profile's stacks would take too much memory: the
// function takes some dozen bytes for each frame.  Fails if its sums are beyond the format's
// integers.
absl::StatusOr<OutputFiles> Export(const ExportFormat& format, const heap::HeapProfile& profile,
                                   heap::Metric metric);
absl::StatusOr<OutputFiles> ExportSeries(const ExportFormat& format,
                                         const std::vector<heap::HeapProfile>& profiles,
                                         heap::Metric metric);
inline constexpr size_t kMostFrames = size_t{1} << 27;

// Returns nullptr if no format has that name.
const ExportFormat* FindExportFormat(std::string_view name);

// ---- The metrics of a profile.

// Lists the metrics that the profile has, for a sentence: "alloc, live".
std::string MetricsOf(const heap::HeapProfile& profile);

// Returns live if the profile has it, else the profile's first metric; nullopt if it has no metric.
std::optional<heap::Metric> DefaultMetric(const heap::HeapProfile& profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORT_H_
