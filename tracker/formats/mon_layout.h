// Computes the layout of a buffer of monitor().  Pure arithmetic; checked against MON.md.
#ifndef ALLOMON_TRACKER_FORMATS_MON_LAYOUT_H_
#define ALLOMON_TRACKER_FORMATS_MON_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "tracker/formats/include/mon.h"

namespace allomon::internal {

// The file is a copy of the buffers, so it depends on the machine's layout.
static_assert(sizeof(void*) == 8 && sizeof(long) == 8);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
static_assert(sizeof(struct hdr) == 96 && offsetof(struct hdr, bias) == 40 &&
              offsetof(struct hdr, id_bytes) == 64);
static_assert(sizeof(struct cnt) == 16);

// The page's finest resolution: half the size of the text, in cells of two bytes.
inline constexpr uint64_t kFinestCellBytes = 4;

// Bytes of the header and the call counts.
constexpr uint64_t FixedBytes(uint64_t nfns) {
  return sizeof(struct hdr) + nfns * sizeof(struct cnt);
}

// Returns the number of bytes of text that share a cell.  A remainder of less than the finest cell
// does not make all cells wider: the page's formula for the size of a buffer rounds down.
constexpr uint64_t CellBytes(uint64_t range_bytes, uint64_t cells) {
  if (cells == 0 || range_bytes < kFinestCellBytes) return kFinestCellBytes;
  const uint64_t bytes = (range_bytes - kFinestCellBytes + cells) / cells;
  return bytes < kFinestCellBytes ? kFinestCellBytes : bytes;
}

// Number of cells that a range can use: more would not be finer.
constexpr uint64_t MostCells(uint64_t range_bytes) {
  return (range_bytes + kFinestCellBytes - 1) / kFinestCellBytes;
}

// Returns the cell of an address `offset` bytes into the range.
constexpr uint64_t CellOf(uint64_t offset, uint64_t cell_bytes, uint64_t cells) {
  const uint64_t cell = offset / cell_bytes;
  return cell < cells ? cell : cells - 1;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_FORMATS_MON_LAYOUT_H_
