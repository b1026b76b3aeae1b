#ifndef ALLOMON_TOOLS_MLPROF_MLPROF_H_
#define ALLOMON_TOOLS_MLPROF_MLPROF_H_

#include <string>
#include <vector>

namespace allomon::mlprof {

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
