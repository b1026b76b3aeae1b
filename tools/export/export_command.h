// `allomon export`: writes a heap profile in another format.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_
#define ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/export/export.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"
#include "tools/symbols/name_sources.h"
#include "tools/text/terminal.h"

namespace allomon::interchange {

// ---- The command line of `allomon export`.

struct ExportOptions : options::Common {
  const ExportFormat* format = nullptr;
  std::optional<heap::Metric> metric;  // none: DefaultMetric()
  std::string output = "-";            // "-": standard output
  NameSources name_sources;
  heap::Born born;
  heap::Outlived outlived;
  std::string by_label;  // whose values are outermost frames
  heap::LabelSelection labels;
  std::vector<std::string> files;  // at least one; what they have adds up
};

const options::Command<ExportOptions>& ExportCommand();

// Fails with one line that names the argument.
absl::StatusOr<ExportOptions> ParseExportOptions(const std::vector<std::string>& args);

const options::CommandText& ExportText();

// `args` does not include the command's name.  The status is 0 if the profile was written, 2 on bad
// input, with one line in `err`.  Reads the profile and writes files.  `out` has the text for
// standard output; binary output does not go to a terminal.
CommandResult RunExport(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_
