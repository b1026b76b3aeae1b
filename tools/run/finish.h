// The last step of `allomon run`, after its program has ended.
#ifndef ALLOMON_TOOLS_RUN_FINISH_H_
#define ALLOMON_TOOLS_RUN_FINISH_H_

#include <sys/types.h>

#include "tools/run/memory_file.h"
#include "tools/run/options.h"
#include "tools/run/signals.h"

namespace allomon::run {

// Writes the files of the recording, and says on standard error what they contain, or why there are
// no files.  After any failure it tries to save the recording in other places.
void Finish(const Options& options, const MemoryFile& memory, pid_t first_process,
            const Signals& signals);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FINISH_H_
