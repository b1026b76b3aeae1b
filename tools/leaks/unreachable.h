// Finds the sampled blocks of a process that nothing refers to.
#ifndef ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
#define ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/leaks/search.h"

namespace allomon::leaks {

struct Unreachable {
  heap::HeapProfile profile;  // only these blocks, as live ones
  uint64_t blocks = 0;
  uint64_t directly = 0;  // of these: no other one of them leads to it
};

// Fails with one line.  With `only_direct` the profile leaves out blocks that others lead to.  Call
// after search->Mark(), once.
absl::StatusOr<Unreachable> FindUnreachable(Search* search, bool only_direct,
                                            const std::string& debug_dir);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
