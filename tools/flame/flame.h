// allomon flame.  README.md is the manual.
#ifndef ALLOMON_TOOLS_FLAME_FLAME_H_
#define ALLOMON_TOOLS_FLAME_FLAME_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flame/page.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"
#include "tools/symbols/name_sources.h"

namespace allomon::flame {

// ---- The command line of `allomon flame`.

struct Options : options::Common {
  std::vector<std::string> files;
  std::string before;                  // empty: no comparison
  std::optional<heap::Metric> metric;  // none: the page's choice
  std::string of_process;              // the metric, of a process in place of a file; or empty
  std::string title;                   // empty: the program's name
  std::string out = "allomon.html";
  NameSources name_sources;
  heap::Born born;
  heap::Outlived outlived;
  std::string by_label;  // the key whose values are the outermost frames; empty: none
  heap::LabelSelection labels;
};

const options::Command<Options>& FlameCommand();

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

const options::CommandText& FlameText();

// Reads the files with tools/load.
CommandResult RunFlame(const std::vector<std::string>& args);

// Returns the page of some profiles.  An empty title becomes the program's name, and no
// metric the one that readers most likely want.  Fails with one line.
absl::StatusOr<std::string> RenderPage(const Profiles& profiles, const std::string& title,
                                       std::optional<heap::Metric> metric);

// Reads a profile.  Its error is one line that names the file.
using Loader = std::function<absl::StatusOr<heap::HeapProfile>(const std::string& path,
                                                               const NameSources& name_sources)>;

CommandResult RunFlameWith(const Loader& load, const std::vector<std::string>& args);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_FLAME_H_
