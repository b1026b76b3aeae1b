// Reads how much of the blocks of a running process was never used.
#ifndef ALLOMON_TOOLS_PAGES_UNUSED_BLOCKS_H_
#define ALLOMON_TOOLS_PAGES_UNUSED_BLOCKS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"

namespace allomon::pages {

// Zero bytes at the end of a block count from this number on: shorter ones are null pointers and
// counters.  It is a line of the cache.
inline constexpr uint64_t kLeastZeroBytes = 64;

// So many bytes of blocks are read in all, from their ends.
inline constexpr uint64_t kMostReadBytes = uint64_t{1} << 30;

// Returns the profile of the process's recording, with HeapProfile::contents, and with a UseCell
// for each sampled block of malloc that is live.  `process` is its id.  It runs on
// meanwhile, and no page of it is brought into memory.  Fails with one line, which names the
// process and the remedy.
absl::StatusOr<heap::HeapProfile> ReadUnusedBlocks(const std::string& process,
                                                   const NameSources& name_sources);

}  // namespace allomon::pages

#endif  // ALLOMON_TOOLS_PAGES_UNUSED_BLOCKS_H_
