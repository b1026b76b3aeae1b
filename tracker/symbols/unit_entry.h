// Reads the first entry of a unit in .debug_info, to find the unit's lines.
//
// Bounds-checked; does not allocate.
#ifndef ALLOMON_TRACKER_SYMBOLS_UNIT_ENTRY_H_
#define ALLOMON_TRACKER_SYMBOLS_UNIT_ENTRY_H_

#include <cstdint>
#include <optional>

#include "tracker/base/byte_reader.h"

namespace allomon::internal {

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

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_UNIT_ENTRY_H_
