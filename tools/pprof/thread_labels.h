#ifndef ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_
#define ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// Returns the label for the samples of each thread: its name, with its id if other threads have
// that name, so that labels are unique.
std::vector<std::string> ThreadLabels(const std::vector<heap::Thread>& threads);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_
