#include "tracker/callstack/cfi_index.h"

#include <dlfcn.h>

namespace allomon::internal {
namespace {

// The encodings that every Linux linker writes: (start, FDE) pairs of signed
// 32-bit offsets from the header's own start.  Another table is treated as
// missing.
constexpr uint8_t kUdata4 = 0x03;
constexpr uint8_t kDataRelativeSdata4 = 0x3b;

struct TableRow {
  int32_t start;
  int32_t fde;
};

// Reads the header; on success *rows and *count describe its table.
bool ReadHeader(const CfiBytes& bytes, const uint8_t* header, const uint8_t** rows,
                uint64_t* count) {
  if (!bytes.Contains(header)) return false;
  ByteReader reader(header, bytes.end);
  const uint8_t version = reader.Read<uint8_t>();
  const uint8_t frame_encoding = reader.Read<uint8_t>();
  const uint8_t count_encoding = reader.Read<uint8_t>();
  const uint8_t table_encoding = reader.Read<uint8_t>();
  if (version != 1 || count_encoding != kUdata4 || table_encoding != kDataRelativeSdata4) {
    return false;
  }
  bool ok = true;
  ReadEncodedPointer(bytes, &reader, frame_encoding, 0, &ok);
  *count = reader.Read<uint32_t>();
  *rows = reader.position();
  return ok && reader.ok() && *count <= reader.remaining() / sizeof(TableRow);
}

TableRow RowAt(const uint8_t* rows, uint64_t index) {
  TableRow row;
  __builtin_memcpy(&row, rows + index * sizeof(TableRow), sizeof(row));
  return row;
}

// The last FDE that starts at or before pc, or nullptr.
const uint8_t* SearchTable(const CfiBytes& bytes, const uint8_t* header, uintptr_t pc) {
  const uint8_t* rows;
  uint64_t count;
  if (!ReadHeader(bytes, header, &rows, &count)) return nullptr;
  const int64_t wanted = static_cast<int64_t>(pc - bytes.AddressOf(header));
  uint64_t low = 0;
  while (count > 0) {
    const uint64_t half = count / 2;
    if (RowAt(rows, low + half).start <= wanted) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low == 0 ? nullptr : header + RowAt(rows, low - 1).fde;
}

// What a table at `header` can refer to: its offsets are signed and have 32
// bits.  The loader's extent of the object is no bound, because for one with
// gaps between its segments it is that of the code alone.  Like libgcc, we
// trust what was loaded.
CfiBytes ReachOf(const uint8_t* header) {
  constexpr uintptr_t kReach = uintptr_t{1} << 31;
  const uintptr_t address = reinterpret_cast<uintptr_t>(header);
  const uintptr_t begin = address > kReach ? address - kReach : 0;
  return {reinterpret_cast<const uint8_t*>(begin),
          reinterpret_cast<const uint8_t*>(address + kReach), begin};
}

}  // namespace

CfiLookup FindCfi(uintptr_t pc, CfiBytes* bytes, CfiEntry* entry) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0) return CfiLookup::kNoObject;
  const auto* header = static_cast<const uint8_t*>(object.dlfo_eh_frame);
  if (header == nullptr) return CfiLookup::kNoEntry;
  *bytes = ReachOf(header);
  const uint8_t* fde = SearchTable(*bytes, header, pc);
  if (fde == nullptr || !ParseFde(*bytes, fde, entry)) return CfiLookup::kNoEntry;
  const bool covers = entry->pc_begin <= pc && pc < entry->pc_end;
  return covers ? CfiLookup::kFound : CfiLookup::kNoEntry;
}

}  // namespace allomon::internal
