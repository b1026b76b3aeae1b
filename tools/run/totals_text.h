// The totals of a profile, in the last lines of `allomon run`.
#ifndef ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_
#define ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::run {

// Returns three lines: all allocated bytes, the peak, and live bytes.  Each has the interval that
// contains the true value in 95 of 100 runs.  `who` names the program if the line needs that; else
// it is empty.
std::vector<std::string> TotalsText(const heap::HeapProfile& profile, const std::string& who);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_TOTALS_TEXT_H_
