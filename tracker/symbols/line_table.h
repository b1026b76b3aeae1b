// The source position of code, from .debug_line (DWARF 2 to 5, section 6.2).
//
// May allocate; not for use inside malloc.  Bounds-checked against hostile files; compressed
// sections are taken as missing.  Addresses are without load bias.
#ifndef ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_
#define ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracker/symbols/elf_file.h"

namespace allomon::internal {

struct LineHeader;

struct SourceLine {
  std::string file;  // the path that the compiler was given, with its folder
  uint64_t line;
};

class LineTable {
 public:
  // Notes where each run of ascending addresses is, by running every line program once.  Keeps
  // pointers into `file`, which must outlive the table.
  explicit LineTable(const ElfFile& file);

  // The line of the code at `address`.  Where several rows have that very address, the first
  // counts, which for a function's first address is the line of its head.  Cost: running one line
  // program again.
  std::optional<SourceLine> Find(uint64_t address) const;

 private:
  // One run: addresses [low, high), in the program of the unit at `unit`, from the instruction at
  // `program`.
  struct Sequence {
    uint64_t low;
    uint64_t high;
    const uint8_t* unit;
    const uint8_t* program;
  };

  void AddSequences(const uint8_t* unit, const LineHeader& header);

  ByteReader lines_;                 // .debug_line
  ByteReader line_strings_;          // .debug_line_str
  ByteReader strings_;               // .debug_str
  std::vector<Sequence> sequences_;  // by low
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_LINE_TABLE_H_
