// The files of a report.
#ifndef ALLOMON_TOOLS_REPORT_INPUTS_H_
#define ALLOMON_TOOLS_REPORT_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/mlprof/program.h"
#include "tools/report/terminal.h"
#include "tracker/formats/mlmon.h"

namespace allomon::report {

// A program and the sum of some of its profiles, whose lengths fit.
struct Profile {
  std::vector<std::string> files;
  mlprof::Program program;
  bool program_found = false;  // nobody named it
  bool live = false;           // of kind alloc: what is live, not all that was allocated
  Mlmon data;
};

// Reads `files`: programs and profiles in any order, told apart by their contents.  Without
// any profile it is mlmon.out.  Fails with one line that names the file and the remedy.
absl::StatusOr<Profile> LoadSum(const std::vector<std::string>& files, Progress* progress);

// The same for exactly two profiles of one kind, each with the program that it is of.
struct Pair {
  Profile before;
  Profile after;
};
absl::StatusOr<Pair> LoadPair(const std::vector<std::string>& files, Progress* progress);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_INPUTS_H_
