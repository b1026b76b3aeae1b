// The command prof(1) of System V, as a function.
#ifndef ALLOMON_TOOLS_PROF_PROF_H_
#define ALLOMON_TOOLS_PROF_PROF_H_

#include <string>
#include <vector>

namespace allomon::prof {

struct Result {
  bool success = false;
  std::string out;  // for standard output; empty on failure
  std::string err;  // for standard error, whole lines: warnings, and the -s summary
};

// Runs `prof` with these arguments, the command's name excluded.  README.md is the manual.
Result RunProf(const std::vector<std::string>& args);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_PROF_H_
