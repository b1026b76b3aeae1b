#ifndef ALLOMON_TOOLS_PPROF_SUMMARY_H_
#define ALLOMON_TOOLS_PPROF_SUMMARY_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// Returns a few lines for people, without control characters: the recorded program, and how it was
// sampled.
std::vector<std::string> SummaryOf(const heap::HeapProfile& profile);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_SUMMARY_H_
