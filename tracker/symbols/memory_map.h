// The executable mappings of this process, as /proc/thread-self/maps lists them.
#ifndef ALLOMON_TRACKER_SYMBOLS_MEMORY_MAP_H_
#define ALLOMON_TRACKER_SYMBOLS_MEMORY_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::internal {

struct Mapping {
  uintptr_t begin;
  uintptr_t end;
  uint64_t offset;   // in the file, of the byte at `begin`
  uint64_t device;   // see MapsLine
  uint64_t inode;    // 0: of no file
  std::string path;  // of the file, perhaps followed by " (deleted)"; "[vdso]" and the like;
                     // "[anon]" if it has no name
};

// Parses the text of a maps file; malformed lines are skipped.
std::vector<Mapping> ParseMaps(std::string_view text);

// Returns the mappings of this process at this moment.  Empty if /proc is not mounted.
std::vector<Mapping> ReadExecutableMappings();

// The mapping that contains `address`, or nullptr.  The mappings must be in the kernel's order.
const Mapping* FindMapping(const std::vector<Mapping>& mappings, uintptr_t address);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_MEMORY_MAP_H_
