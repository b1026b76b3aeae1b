// `allomon explain PID`: where the resident memory of a process is.
#ifndef ALLOMON_TOOLS_EXPLAIN_EXPLAIN_H_
#define ALLOMON_TOOLS_EXPLAIN_EXPLAIN_H_

#include <string>
#include <vector>

#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::explain {

const options::CommandText& ExplainText();

// Status 0: explained; 1: the process changed while it was read, so that rows are off by more than
// 1 %; 2: bad input, or the process may not be read.
CommandResult RunExplain(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_EXPLAIN_H_
