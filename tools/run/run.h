// `allomon run`: records a program.  README.md is the manual.
#ifndef ALLOMON_TOOLS_RUN_RUN_H_
#define ALLOMON_TOOLS_RUN_RUN_H_

#include <string>
#include <vector>

#include "tools/options/command_text.h"

namespace allomon::run {

const options::CommandText& RunText();

// Starts the program, waits for it, and writes the recording's files.  Reports on standard error as
// it goes.  The result's status is the program's.  If a signal has ended the program, the same
// signal ends this process.
CommandResult RunRun(const std::vector<std::string>& args);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_RUN_H_
