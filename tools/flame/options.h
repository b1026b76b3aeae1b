// The command line of `allomon flame`.
#ifndef ALLOMON_TOOLS_FLAME_OPTIONS_H_
#define ALLOMON_TOOLS_FLAME_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/heap/outlived.h"
#include "tools/options/command_line.h"

namespace allomon::flame {

struct Options : options::Common {
  std::vector<std::string> files;
  std::string before;                  // empty: no comparison
  std::optional<heap::Metric> metric;  // none: the page's choice
  bool is_of_pages = false;            // the file is a process, of which pages are shown
  std::string title;                   // empty: the program's name
  std::string out = "allomon.html";
  std::string debug_dir;
  heap::Born born;
  heap::Outlived outlived;
  std::string by_label;  // the key whose values are the outermost frames; empty: none
  heap::LabelSelection labels;
};

const options::Command<Options>& FlameCommand();

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

}  // namespace allomon::flame

#endif  // ALLOMON_TOOLS_FLAME_OPTIONS_H_
