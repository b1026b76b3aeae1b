// `allomon gate`: fails when benchmarks allocate more than a baseline allows.  README.md is the
// manual.
#ifndef ALLOMON_TOOLS_GATE_GATE_H_
#define ALLOMON_TOOLS_GATE_GATE_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon::gate {

const options::CommandText& GateText();

// Status 0: passed, 1: failed, 2: could not be judged.
using Result = CommandResult;

// `args` does not include the command's name.
Result RunGate(const std::vector<std::string>& args);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_GATE_H_
