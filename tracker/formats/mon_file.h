// Reading and writing mon.out.  MON.md has the format.
//
// Pure functions: thread safe, nothing thrown; they allocate with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_MON_FILE_H_
#define ALLOMON_TRACKER_FORMATS_MON_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon {

struct MonCount {
  uint64_t address = 0;  // where the function starts
  uint64_t calls = 0;
};

// One range of code.  Addresses are those of the process; subtracting `bias` gives those of the
// file with the code.
struct MonRange {
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t bias = 0;
  uint64_t ticks = 0;
  uint64_t other_ticks = 0;
  uint32_t cell_bytes = 4;
  uint32_t hz = 100;
  bool saturated = false;
  bool counts_lost = false;
  std::string build_id;  // in lower-case hexadecimal; empty: unknown
  uint32_t count_room = 0;
  std::vector<MonCount> counts;
  std::vector<uint16_t> cells;
};

// On failure returns false, and *error is one line without the file's name.
bool ParseMon(std::string_view file, std::vector<MonRange>* ranges, std::string* error);

// Returns the bytes of the file.  Formatting a parsed file gives the same bytes.
std::string FormatMon(const std::vector<MonRange>& ranges);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_MON_FILE_H_
