// `allomon report` and `allomon diff`: show profiles to people at a terminal.  README.md is the
// manual.
#ifndef ALLOMON_TOOLS_REPORT_REPORT_H_
#define ALLOMON_TOOLS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::report {

const options::CommandText& ReportText();
const options::CommandText& DiffText();

// The error that `allomon report` has for these options before it reads a file.
absl::Status CheckReportOptions(const std::vector<std::string>& args);

// `args` does not include the command's name.  The status is 0 if the report was shown, 2 on bad
// input.  Reads files, may run programs to ask for the names of their functions (find_program.h),
// and writes the picture.
CommandResult RunReport(const std::vector<std::string>& args, const Terminal& terminal);

// `allomon diff`: compares two heap profiles, or two mlmon.out.  The status is 0 if they were
// compared, 1 if a row grew and --fail-on-growth was given, 2 on bad input.
CommandResult RunDiff(const std::vector<std::string>& args, const Terminal& terminal);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_REPORT_H_
