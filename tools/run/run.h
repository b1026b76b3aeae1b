// `allomon run`: records a program.  README.md is the manual.
#ifndef ALLOMON_TOOLS_RUN_RUN_H_
#define ALLOMON_TOOLS_RUN_RUN_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"

namespace allomon::run {

// Starts the program, waits for it, and writes what was recorded.  Lines on standard error say what
// came of it, when it came.  The result's status is the program's.  When a signal has ended the
// program, this process is ended by it, too.
CommandResult RunRun(const std::vector<std::string>& args);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_RUN_H_
