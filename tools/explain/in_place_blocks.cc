#include "tools/explain/in_place_blocks.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "tools/explain/notes.h"
#include "tracker/formats/process_map.h"

namespace allomon::explain {
namespace {

using process_map::InPlaceMap;

// More than any table has.
constexpr uint64_t kMostCells = 1 << 24;
constexpr uint64_t kMostCellBytes = 256;

template <typename Value>
bool Read(const ProcessFile& memory, const void* address, Value* value) {
  return address != nullptr &&
         memory.ReadAt(reinterpret_cast<uintptr_t>(address), value, sizeof(*value));
}

bool IsMap(const InPlaceMap& map) {
  return memcmp(map.magic, process_map::kInPlaceMagic, sizeof(map.magic)) == 0;
}

bool IsPossible(const process_map::InPlaceBlocks& table) {
  const uint64_t bytes = table.cell_bytes;
  return table.cell_count <= kMostCells && bytes <= kMostCellBytes && bytes >= sizeof(uint64_t) &&
         table.address_offset <= bytes - sizeof(uint64_t) &&
         table.handle_offset <= bytes - sizeof(uint32_t);
}

absl::Status None(const std::string& why) { return absl::FailedPreconditionError(why); }

}  // namespace

absl::StatusOr<InPlaceBlocks> FindInPlaceBlocks(const ProcessFile& memory,
                                                const std::vector<Mapping>& mappings) {
  for (const uint64_t address : FindNotes(memory, mappings, process_map::kInPlaceNoteType)) {
    InPlaceMap map;
    if (!memory.ReadAt(address, &map, sizeof(map)) || !IsMap(map)) continue;
    if (map.version != process_map::kInPlaceVersion || map.size_bytes != sizeof(map)) {
      return None("it has another version of Allomon; use the allomon that came with its library");
    }
    process_map::InPlaceBlocks table;
    InPlaceBlocks found;
    if (!Read(memory, map.blocks, &table) || !IsPossible(table)) {
      return None("its backend keeps no samples in place: mimalloc 2.0.9 and 3.0.1 do");
    }
    if (!Read(memory, map.one_in, &found.one_in) || found.one_in == 0) {
      return None(
          "no sample of it stays on its page: start it by allomon run --in-place=1/16, or with "
          "ALLOMON_IN_PLACE=1/16");
    }
    Read(memory, table.without_room, &found.without_room);
    std::string cells(uint64_t{table.cell_count} * table.cell_bytes, '\0');
    if (!memory.ReadAt(reinterpret_cast<uintptr_t>(table.cells), cells.data(), cells.size())) {
      return None("its samples in place cannot be read");
    }
    found.table_begin = reinterpret_cast<uintptr_t>(table.cells);
    found.table_end = found.table_begin + cells.size();
    for (size_t at = 0; at < cells.size(); at += table.cell_bytes) {
      InPlaceBlock block = {};
      memcpy(&block.address, cells.data() + at + table.address_offset, sizeof(block.address));
      memcpy(&block.entry, cells.data() + at + table.handle_offset, sizeof(block.entry));
      const bool lives = block.address != 0 && block.address % 2 == 0 && block.entry != 0;
      if (lives) found.blocks.push_back(block);
    }
    return found;
  }
  return None(
      "its Allomon tells no other process which samples stay on their pages; start it with the "
      "library that came with this allomon");
}

const Area* PageOf(const std::vector<Area>& areas, uint64_t address) {
  const auto after =
      std::upper_bound(areas.begin(), areas.end(), address,
                       [](uint64_t of, const Area& area) { return of < area.begin; });
  if (after == areas.begin()) return nullptr;
  const Area& area = *(after - 1);
  const bool has_it = address < area.end && area.use == Use::kBlocks && area.live_blocks > 0;
  return has_it ? &area : nullptr;
}

}  // namespace allomon::explain
