#ifndef ALLOMON_TOOLS_LOAD_CHOOSE_PROGRAM_H_
#define ALLOMON_TOOLS_LOAD_CHOOSE_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::load {

// Chooses among the profiles of a recording's programs the first whose path contains `program`; a
// note names the others.  Fails with one line, which names the file and its programs, if no path
// contains it.
absl::StatusOr<heap::HeapProfile> ChooseProgram(
    const std::string& file, const std::string& program,
    absl::StatusOr<std::vector<heap::HeapProfile>> profiles);

}  // namespace allomon::load

#endif  // ALLOMON_TOOLS_LOAD_CHOOSE_PROGRAM_H_
