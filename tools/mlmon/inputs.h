// Loads the files of a report.
#ifndef ALLOMON_TOOLS_MLMON_INPUTS_H_
#define ALLOMON_TOOLS_MLMON_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/mlmon/program.h"
#include "tools/text/terminal.h"
#include "tracker/formats/call_sites.h"
#include "tracker/formats/mlmon.h"

namespace allomon::report {

// A program and the sum of some of its profiles.  Both have the same numbers of sources and of
// names.
struct Profile {
  std::vector<std::string> files;
  mlprof::Program program;
  bool program_found = false;  // the program was found beside the profile, not named by the user
  bool live = false;           // kind alloc only: counts live memory, not all allocations
  Mlmon data;
  CallSites call_sites;            // of all files; empty if functions were charged while they ran
  std::vector<std::string> notes;  // lines that say why functions have no names
};

// Reads `files`: programs and profiles in any order, which their contents tell apart.  Without any
// profile, reads mlmon.out.  Fails with one line that names the file and the remedy.
absl::StatusOr<Profile> LoadSum(const std::vector<std::string>& files, Progress* progress);

// Does the same as LoadSum() for exactly two profiles of one kind, each with its program.
// Allocated and live memory are two kinds.
struct Pair {
  Profile before;
  Profile after;
};
absl::StatusOr<Pair> LoadPair(const std::vector<std::string>& files, Progress* progress);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_MLMON_INPUTS_H_
