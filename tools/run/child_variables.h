// The environment in which a program records itself into a memory file.
#ifndef ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_
#define ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_

#include <string>

#include "tools/run/child.h"
#include "tools/run/memory_file.h"
#include "tools/run/options.h"

namespace allomon::run {

// Returns the variables that the program gets in addition to this process's own.  LD_PRELOAD and
// ALLOMON_ variables of this process stay, except those that the options or `allomon run` set.  If
// a service manager's variable names this process, the program gets its own number there.
Variables ChildVariables(const Options& options, const std::string& library,
                         const MemoryFile& memory);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_CHILD_VARIABLES_H_
