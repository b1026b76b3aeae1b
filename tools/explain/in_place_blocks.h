// The sampled blocks of a process that lie on their ordinary pages, as formats/process_map.h
// describes them.
#ifndef ALLOMON_TOOLS_EXPLAIN_IN_PLACE_BLOCKS_H_
#define ALLOMON_TOOLS_EXPLAIN_IN_PLACE_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"

namespace allomon::explain {

struct InPlaceBlock {
  uint64_t address;  // may be in the middle, of a block that was aligned
  uint32_t entry;    // number of its first entry (process_map::Entries)
};

struct InPlaceBlocks {
  uint32_t one_in = 0;  // one of so many followed blocks stays in place; 0: no block
  uint64_t without_room = 0;
  std::vector<InPlaceBlock> blocks;
  // Addresses of the table that lists them.
  uint64_t table_begin = 0;
  uint64_t table_end = 0;
};

// Fails with one line, which names the remedy, if the process keeps no block in place.
absl::StatusOr<InPlaceBlocks> FindInPlaceBlocks(const ProcessFile& memory,
                                                const std::vector<Mapping>& mappings);

// Returns the page of blocks with that address; nullptr if no page has it.  `areas` are in the
// order of their addresses, without overlap.
const Area* PageOf(const std::vector<Area>& areas, uint64_t address);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_IN_PLACE_BLOCKS_H_
