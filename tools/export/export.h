// The formats that heap profiles are exported to.  A new one is a file that defines its function,
// and a line in export.cc.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORT_H_
#define ALLOMON_TOOLS_EXPORT_EXPORT_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tracker/formats/output_format.h"

namespace allomon::interchange {

// Functions of the profile alone.  They fail with one line if the format cannot hold it.  The
// metric is one that the profile has; formats that hold several begin with it.
using ExportFunction = absl::StatusOr<OutputFiles> (*)(const heap::HeapProfile& profile,
                                                       heap::Metric metric);

struct ExportFormat {
  const char* name;
  const char* summary;    // who reads it
  const char* extension;  // of a file of the format
  ExportFunction run;
};

const std::vector<ExportFormat>& ExportFormats();

// Runs the format's function, unless the profile's stacks are too many for the memory that this
// takes: some dozen bytes for each frame.
absl::StatusOr<OutputFiles> Export(const ExportFormat& format, const heap::HeapProfile& profile,
                                   heap::Metric metric);
inline constexpr size_t kMostFrames = size_t{1} << 27;

// nullptr if there is none of that name.
const ExportFormat* FindExportFormat(std::string_view name);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORT_H_
