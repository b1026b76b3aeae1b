// Profiles without call stacks (mlmon.out), from files to the output of a command.
#ifndef ALLOMON_TOOLS_REPORT_MLMON_REPORT_H_
#define ALLOMON_TOOLS_REPORT_MLMON_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/report/table/options.h"
#include "tools/text/terminal.h"

namespace allomon::report {

struct MlmonReport {
  std::string text;
  std::string damage;  // one line about numbers that do not add up; empty: they do
};

// The sum of the files of the options, or with Options::diff the difference of two.  Writes the
// picture.  May run the profiled program to ask for names (find_program.h).  Fails with one line.
absl::StatusOr<MlmonReport> ReportMlmon(const views::Options& options, const Terminal& terminal);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_MLMON_REPORT_H_
