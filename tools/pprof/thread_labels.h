#ifndef ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_
#define ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_

#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof {

// What samples of each thread are labelled with: its name, with its id where others have that name,
// so that no two are the same.
std::vector<std::string> ThreadLabels(const std::vector<heap::Thread>& threads);

}  // namespace allomon::pprof

#endif  // ALLOMON_TOOLS_PPROF_THREAD_LABELS_H_
