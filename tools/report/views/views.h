// `allomon report` of heap profiles with call stacks, and `allomon diff`.  README.md is the manual.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/text/terminal.h"

namespace allomon::views {

// Runs `allomon report` if it is about heap profiles.  No value if it is about an mlmon.out: then
// `args` have lost the options that only heap profiles need and that an mlmon.out has as it is
// (--metric=alloc, --view=functions, --format=json).  `args` are without the command's name.
std::optional<CommandResult> TryReport(std::vector<std::string>* args,
                                       const report::Terminal& terminal);

// Likewise `allomon diff`; no value if it is about two mlmon.out.  Status 0: compared; 1: a row
// grew, and --fail-on-growth was given; 2: bad input.
std::optional<CommandResult> TryDiff(const std::vector<std::string>& args,
                                     const report::Terminal& terminal);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_
