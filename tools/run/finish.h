// The last step of `allomon run`, after its program has ended.
#ifndef ALLOMON_TOOLS_RUN_FINISH_H_
#define ALLOMON_TOOLS_RUN_FINISH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/run/memory_file.h"
#include "tools/run/options.h"
#include "tools/run/resident.h"
#include "tools/run/signals.h"

namespace allomon::run {

// Writes the files of the recording, and says on standard error what they contain, or why there are
// no files.  After any failure it tries to save the recording in other places.
void Finish(const Options& options, const MemoryFile& memory, const ResidentMemories& resident,
            pid_t first_process, const Signals& signals);

// ---- The totals of a profile, in the last lines of `allomon run`.

// Returns three lines: all allocated bytes, the peak, and live bytes.  Each has the interval that
// contains the true value in 95 of 100 runs.  `who` names the program if the line needs that; else
// it is empty.
std::vector<std::string> TotalsText(const heap::HeapProfile& profile, const std::string& who);

// ---- Explains why a program did not load the preloaded library.

// Returns the file that a shell would execute for `command`; `command` itself if the shell would
// find no file.
std::string PathOfCommand(const std::string& command);

// Returns half a sentence that continues the program's name: "is linked statically, ...".  Reads a
// few kilobytes of the file.
std::string WhyUnrecorded(const std::string& path);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FINISH_H_
