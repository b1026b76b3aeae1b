#ifndef ALLOMON_TOOLS_PPROF_SUMMARY_H_
#define ALLOMON_TOOLS_PPROF_SUMMARY_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// A few lines for people, without control characters: what was recorded, and how.
std::vector<std::string> SummaryOf(const heap::HeapProfile& profile);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SUMMARY_H_
