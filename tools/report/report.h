// `allomon report`: shows profiles to people at a terminal.  README.md is the manual.
#ifndef ALLOMON_TOOLS_REPORT_REPORT_H_
#define ALLOMON_TOOLS_REPORT_REPORT_H_

#include <string>
#include <vector>

#include "tools/command_result.h"
#include "tools/report/terminal.h"

namespace allomon::report {

// `args` without the command's name.  Status 0: shown, 2: bad input.  Reads files, may run
// programs for the names of their functions (find_program.h), writes the picture.
CommandResult RunReport(const std::vector<std::string>& args, const Terminal& terminal);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_REPORT_H_
