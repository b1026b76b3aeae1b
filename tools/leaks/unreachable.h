// Finds the sampled blocks of a process that nothing refers to.
#ifndef ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
#define ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::leaks {

struct Unreachable {
  heap::HeapProfile profile;  // only these blocks, as live ones
  uint64_t sampled_blocks = 0;
  uint64_t unreachable_blocks = 0;  // of these
  uint64_t sleeping_threads = 0;    // could not be stopped: their registers are not known
  double stopped_seconds = 0;
};

// Stops the process, copies its memory, lets it go on, and marks what its registers, stacks, data
// and other mappings refer to, through all blocks of its heap.  Fails with one line.
absl::StatusOr<Unreachable> FindUnreachable(uint32_t pid, const std::string& debug_dir);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_UNREACHABLE_H_
