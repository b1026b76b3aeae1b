// The profile of a running process that knows which live blocks nothing refers to.
#ifndef ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
#define ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"

namespace allomon::leaks {

// Searches a process (see Search) and returns the profile of its recording, with
// Sample::unreachable.  `process` is its id.  It stands for a fork or a copy, and runs on.  Fails
// with one line, which names the process and the remedy.  Cost: that of `allomon leaks`.
absl::StatusOr<heap::HeapProfile> ReadUnreachable(const std::string& process,
                                                  const NameSources& name_sources);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
