#ifndef ALLOMON_TOOLS_SERVE_RUNNING_H_
#define ALLOMON_TOOLS_SERVE_RUNNING_H_

#include "tracker/formats/recording.h"

namespace allomon::serve {

// Whether the process of a recording goes on.  The id of one in a container is another one's
// outside, which mostly tells itself by being younger.
bool IsRunning(const recording::Process& process);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_RUNNING_H_
