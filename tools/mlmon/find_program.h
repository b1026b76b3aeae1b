// Finds the program whose functions a profile counts.
#ifndef ALLOMON_TOOLS_MLMON_FIND_PROGRAM_H_
#define ALLOMON_TOOLS_MLMON_FIND_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/mlmon/program.h"

namespace allomon::report {

// Tries the programs in `named`, if there are any: takes the first whose magic is that of the
// profile, otherwise PROFILE.sources.  The named programs are run, as mlprof runs them.  If `named`
// is empty, takes the first of these that has the magic:
//
//   PROFILE.sources    if it is the script that Allomon writes: it is read, not run
//   executables        in the profile's directory that contain the words `@MLton` and
//                      `show-sources`, by name, at most 16: they are run with these
//                      arguments.  Only ELF files of the caller's own that nobody else may
//                      write to, in a directory that nobody else may write to: a file that
//                      others can put beside a profile must not run.
//
// Fails with one line that says what was tried and what to do.
absl::StatusOr<mlprof::Program> FindProgram(const std::string& profile, uint32_t magic,
                                            const std::vector<std::string>& named);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_MLMON_FIND_PROGRAM_H_
