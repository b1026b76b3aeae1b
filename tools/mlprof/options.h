#ifndef ALLOMON_TOOLS_MLPROF_OPTIONS_H_
#define ALLOMON_TOOLS_MLPROF_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/mlprof/keep.h"
#include "tools/text/regexp.h"

namespace allomon::mlprof {

// The command line.  README.md says what each option does.
struct Options {
  std::optional<std::string> call_graph;
  std::optional<std::string> graph_title;
  bool gray = false;
  KeepExpression keep;
  bool long_name = true;
  std::vector<std::string> mlmon_lists;  // in the order of the command line
  bool raw = false;
  bool show_line = false;
  std::vector<Regexp> split;
  bool tolerant = false;

  std::string executable;
  std::vector<std::string> mlmon_files;
};

// Options end at the first argument without a dash.  On failure returns false and sets `error` to a
// message and the usage: several lines without the last newline.
bool ParseOptions(const std::vector<std::string>& args, Options* options, std::string* error);

// The usage, which MLton's mlprof shows behind an error.  Without the last newline.
std::string Usage();

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_OPTIONS_H_
