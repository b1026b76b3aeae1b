// The environment in which a program records itself into a memory file.
#ifndef ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_
#define ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_

#include <string>

#include "tools/run/child.h"
#include "tools/run/memory_file.h"
#include "tools/run/options.h"

namespace allomon::run {

// What the program's environment has beside this process's own.  An LD_PRELOAD and ALLOMON_
// variables that are there stay, but for those that the options or `allomon run` itself decide.
// Where a service manager's variable names this process, it names the program's there.
Variables ChildVariables(const Options& options, const std::string& library,
                         const MemoryFile& memory);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_
