// What a profile comes to, in the lines that `allomon run` ends with.
#ifndef ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_
#define ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::run {

// Three lines: all that was allocated, the peak, and what is live, each with the interval that
// holds the truth in 95 of 100 runs.  `who` says whose it is, if that needs to be said.
std::vector<std::string> TotalsText(const heap::HeapProfile& profile, const std::string& who);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_
