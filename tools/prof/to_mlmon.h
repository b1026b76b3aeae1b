// Turns charges into MLton's mlmon.out, for mlprof and the reports.
#ifndef ALLOMON_TOOLS_PROF_TO_MLMON_H_
#define ALLOMON_TOOLS_PROF_TO_MLMON_H_

#include <string>

#include "tools/prof/charge.h"

namespace allomon::prof {

// Writes `path`, and `path`.sources, which answers mlprof for the program.  The counts are ticks of
// 1/100 second, or with `counts` the calls.  On failure returns false, and *error is one line.
bool WriteMlmon(const Charges& charges, bool counts, const std::string& path, std::string* error);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_TO_MLMON_H_
