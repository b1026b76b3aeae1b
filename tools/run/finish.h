// What `allomon run` does when its program has ended.
#ifndef ALLOMON_TOOLS_RUN_FINISH_H_
#define ALLOMON_TOOLS_RUN_FINISH_H_

#include <sys/types.h>

#include "tools/run/memory_file.h"
#include "tools/run/options.h"
#include "tools/run/signals.h"

namespace allomon::run {

// Writes the files of the recording, and says on standard error what is in them, or why there are
// none.  Whatever fails, what was recorded is saved somewhere if there is a place for it.
void Finish(const Options& options, const MemoryFile& memory, pid_t first_process,
            const Signals& signals);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FINISH_H_
