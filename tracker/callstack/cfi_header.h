// The sorted table in .eh_frame_hdr, which leads from an address to its FDE (Linux Standard Base,
// "Exception Frames"), in memory as the loader mapped it or read from a file.
//
// No allocation, no lock, async-signal-safe.  Reads nothing outside the bytes it is given.
#ifndef ALLOMON_TRACKER_CALLSTACK_CFI_HEADER_H_
#define ALLOMON_TRACKER_CALLSTACK_CFI_HEADER_H_

#include <cstdint>
#include <cstring>

#include "tracker/callstack/cfi_entry.h"

namespace allomon::internal {

struct CfiHeader {
  struct Row {
    int32_t start;
    int32_t fde;
  };

  // False if there is no table, or not the one that every Linux linker writes: (start, FDE) pairs
  // of signed 32-bit offsets from the header's own start.
  [[nodiscard]] bool Read(const CfiBytes& bytes, const uint8_t* start) {
    constexpr uint8_t kUdata4 = 0x03;
    constexpr uint8_t kDataRelativeSdata4 = 0x3b;
    if (!bytes.Contains(start)) return false;
    ByteReader reader(start, bytes.end);
    const uint8_t version = reader.Read<uint8_t>();
    const uint8_t frame_encoding = reader.Read<uint8_t>();
    const uint8_t count_encoding = reader.Read<uint8_t>();
    const uint8_t table_encoding = reader.Read<uint8_t>();
    if (version != 1 || count_encoding != kUdata4 || table_encoding != kDataRelativeSdata4) {
      return false;
    }
    bool ok = true;
    frames = ReadEncodedPointer(bytes, &reader, frame_encoding, 0, &ok);
    count = reader.Read<uint32_t>();
    rows = reader.position();
    address = bytes.AddressOf(start);
    return ok && reader.ok() && count <= reader.remaining() / sizeof(Row);
  }

  // Returns the address of the last FDE whose code starts at or before pc; 0 if there is none.
  // Cost: one cache miss per step of a binary search.
  uintptr_t AddressOfFde(uintptr_t pc) const {
    const int64_t wanted = static_cast<int64_t>(pc - address);
    uint64_t low = 0;
    for (uint64_t left = count; left > 0;) {
      const uint64_t half = left / 2;
      if (RowAt(low + half).start <= wanted) {
        low += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return low == 0 ? 0 : address + static_cast<intptr_t>(RowAt(low - 1).fde);
  }

  Row RowAt(uint64_t index) const {
    Row row;
    memcpy(&row, rows + index * sizeof(Row), sizeof(row));
    return row;
  }

  uintptr_t address = 0;
  uintptr_t frames = 0;  // address of .eh_frame
  const uint8_t* rows = nullptr;
  uint64_t count = 0;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CFI_HEADER_H_
