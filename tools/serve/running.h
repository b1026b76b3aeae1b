#ifndef ALLOMON_TOOLS_SERVE_RUNNING_H_
#define ALLOMON_TOOLS_SERVE_RUNNING_H_

#include "tracker/formats/recording.h"

namespace allomon::serve {

// True if the process of a recording still runs.  Outside a container, the process's id there may
// belong to another process, which is recognized if it is younger.
bool IsRunning(const recording::Process& process);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_RUNNING_H_
