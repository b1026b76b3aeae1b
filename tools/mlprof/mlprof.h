#ifndef ALLOMON_TOOLS_MLPROF_MLPROF_H_
#define ALLOMON_TOOLS_MLPROF_MLPROF_H_

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

// The result of a run of the command.  `out` is for standard output, and is empty on failure.
// `err` is for standard error.  It consists of whole lines, and may contain warnings of a
// successful run.
struct Result {
  bool success = false;
  std::string out;
  std::string err;
};

// Runs `mlprof` with these arguments, without the command's name.  It reads profiles, runs the
// executable to ask for its source functions, and writes the call graph if the arguments say so.
// README.md beside this header is the manual.
Result RunMlprof(const std::vector<std::string>& args);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_MLPROF_H_
