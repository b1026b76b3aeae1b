#ifndef ALLOMON_TOOLS_MLPROF_MLPROF_H_
#define ALLOMON_TOOLS_MLPROF_MLPROF_H_

#include <string>
#include <vector>

namespace allomon::mlprof {

// What a run of the command has to say.  `out` is for standard output and empty
// on failure; `err` is for standard error, of whole lines, and may hold
// warnings of a successful run.
struct Result {
  bool success = false;
  std::string out;
  std::string err;
};

// Runs `mlprof` with these arguments, the command's name excluded: reads
// profiles, runs the executable to ask for its source functions, writes the
// call graph if told to. README.md beside this header is the manual.
Result RunMlprof(const std::vector<std::string>& args);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_MLPROF_H_
