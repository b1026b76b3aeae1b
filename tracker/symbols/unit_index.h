// Finds the unit of the line tables for an address, from .debug_aranges and .debug_info (DWARF 2 to
// 5, sections 6.1.2 and 7.5).  So a few addresses cost only the lines of a few units.
//
// g++ writes .debug_aranges for each unit, clang++ for none.
//
// May allocate; not for use inside malloc.  Bounds-checked against hostile files.  Addresses are
// without load bias.
#ifndef ALLOMON_TRACKER_SYMBOLS_UNIT_INDEX_H_
#define ALLOMON_TRACKER_SYMBOLS_UNIT_INDEX_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tracker/base/byte_reader.h"
#include "tracker/symbols/elf_file.h"

namespace allomon::internal {

// ---- Reads the first entry of a unit in .debug_info, to find the unit's lines.
//
// Bounds-checked; does not allocate.

// A piece that begins with its own length, in 32-bit or 64-bit DWARF.
struct SizedPiece {
  ByteReader data;
  bool is_64_bit = false;

  static uint64_t ReadOffset(ByteReader* reader, bool is_64_bit) {
    return is_64_bit ? reader->Read<uint64_t>() : reader->Read<uint32_t>();
  }
};

// Reads the piece at the start of *reader and moves past it.
SizedPiece ReadSizedPiece(ByteReader* reader);

// DW_AT_stmt_list of the unit's first entry: the offset of its lines in .debug_line.
std::optional<uint64_t> LinesOfUnit(const SizedPiece& unit, const ByteReader& abbreviations);

class UnitIndex {
 public:
  // Keeps pointers into `file`, which must outlive the index.  Cost: a pass through .debug_aranges,
  // a thousandth of a file with debug information.
  explicit UnitIndex(const ElfFile& file);

  // Returns the offset in .debug_line of the unit that has the code at `address`; nothing if no
  // unit claims it.  Cost: a binary search, and the first entry of the unit.
  std::optional<uint64_t> LinesOf(uint64_t address) const;

  // The same for all units that do not list their code.  Nothing if they cannot be determined:
  // there is no index, or no .debug_info.  Cost: the headers of all units.
  std::optional<std::vector<uint64_t>> LinesOfSilentUnits() const;

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t unit;  // its offset in .debug_info
  };

  void ReadSet(ByteReader set, bool is_64_bit);
  std::optional<uint64_t> LinesOfUnit(uint64_t unit) const;

  ByteReader units_;            // .debug_info
  ByteReader abbreviations_;    // .debug_abbrev
  std::vector<Range> ranges_;   // by begin
  std::vector<uint64_t> sets_;  // units that have a set of ranges, ascending
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_UNIT_INDEX_H_
