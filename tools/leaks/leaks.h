// `allomon leaks PID`: memory of a running process that nothing refers to any more.
#ifndef ALLOMON_TOOLS_LEAKS_LEAKS_H_
#define ALLOMON_TOOLS_LEAKS_LEAKS_H_

#include <string>
#include <vector>

#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::leaks {

const options::CommandText& LeaksText();

// Status 0: all sampled blocks are reached; 1: some are not, and are shown; 2: bad input, or the
// process may not be read.
CommandResult RunLeaks(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_LEAKS_H_
