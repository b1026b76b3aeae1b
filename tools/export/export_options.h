// The command line of `allomon export`.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORT_OPTIONS_H_
#define ALLOMON_TOOLS_EXPORT_EXPORT_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/export/export.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/heap/outlived.h"
#include "tools/options/command_line.h"

namespace allomon::interchange {

struct ExportOptions : options::Common {
  const ExportFormat* format = nullptr;
  std::optional<heap::Metric> metric;  // none: DefaultMetric()
  std::string output = "-";            // "-": standard output
  std::string debug_dir;               // where debug files are looked for, too
  heap::Born born;
  heap::Outlived outlived;
  std::string by_label;  // whose values are outermost frames
  heap::LabelSelection labels;
  std::vector<std::string> files;  // at least one; what they have adds up
};

const options::Command<ExportOptions>& ExportCommand();

// Fails with one line that names the argument.
absl::StatusOr<ExportOptions> ParseExportOptions(const std::vector<std::string>& args);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORT_OPTIONS_H_
