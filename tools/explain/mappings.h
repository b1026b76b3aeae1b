// The mappings of a process, as /proc/PID/smaps lists them.  Pure functions.
#ifndef ALLOMON_TOOLS_EXPLAIN_MAPPINGS_H_
#define ALLOMON_TOOLS_EXPLAIN_MAPPINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::explain {

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
  bool is_shared = false;
  bool is_wiped_by_fork = false;  // MADV_WIPEONFORK: zero in a child
  uint64_t offset_bytes = 0;      // in the file
  uint64_t inode = 0;             // 0: no file
  std::string name;               // a path, "[heap]", "[anon:name]"; "": an anonymous mapping

  uint64_t resident_bytes = 0;
  uint64_t proportional_bytes = 0;  // each page divided by the processes that have it mapped
  uint64_t anonymous_bytes = 0;     // resident, and no file's
  uint64_t huge_bytes = 0;          // resident, in anonymous huge pages
  uint64_t swapped_bytes = 0;
};

// The mappings in the order of their addresses.  Lines of unknown forms are left out; so is a
// mapping that ends where it begins, or that overlaps the one before.
std::vector<Mapping> ParseMappings(std::string_view smaps);

// The sums over all mappings, which the kernel makes at one moment (smaps_rollup).
struct Totals {
  uint64_t resident_bytes = 0;
  uint64_t proportional_bytes = 0;
  uint64_t huge_bytes = 0;  // in anonymous huge pages
  uint64_t swapped_bytes = 0;
};
Totals SumOf(const std::vector<Mapping>& mappings);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_MAPPINGS_H_
