// Several files as one heap profile.
#ifndef ALLOMON_TOOLS_LOAD_LOAD_SUM_H_
#define ALLOMON_TOOLS_LOAD_LOAD_SUM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/load.h"
#include "tools/text/terminal.h"

namespace allomon::load {

// Returns why profiles of two programs must not be added up; empty if both are of one program, or
// if one of them does not say of which it is.
std::string WhyNotOneProgram(const heap::HeapProfile& sum, const heap::HeapProfile& other);

// Returns the sum of the files, at least one, which must be of one program and have a metric in
// common.  Fails with one line, which names the file.  `progress` may be nullptr.
absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const LoadOptions& options, report::Progress* progress);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_LOAD_SUM_H_
