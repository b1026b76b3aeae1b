#include "tools/explain/page_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace allomon::explain {
namespace {

using process_map::PageTable;

constexpr uint64_t kAddresses = uint64_t{1} << 48;  // of a program
constexpr uint64_t kMostHeaderBytes = 4096;
constexpr uint64_t kMostParts = 1 << 20;
constexpr uint64_t kLeastPartEntries = 512, kMostPartEntries = 1 << 20;
constexpr uint64_t kLeastSliceBytes = 65536, kMostSliceBytes = uint64_t{1} << 30;
// A walk ends whatever the memory says: the slices of 4 TiB, or the pages of one.
constexpr uint64_t kMostSlices = 1 << 26, kMostHeaders = 1 << 24, kMostPartReads = 1 << 16;
// mimalloc 3 has at most 160 arenas, each of at most 16 GiB.
constexpr size_t kMostArenas = 256;
constexpr uint64_t kMostArenaSlices = 1 << 18;

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool IsBefore(const Area& a, const Area& b) { return a.begin < b.begin; }

bool IsSound(const PageTable& table) {
  return table.header_bytes <= kMostHeaderBytes && table.slice_bytes >= kLeastSliceBytes &&
         table.slice_bytes <= kMostSliceBytes && table.part_count <= kMostParts &&
         table.part_entries >= kLeastPartEntries && table.part_entries <= kMostPartEntries;
}

class Walk {
 public:
  Walk(const ProcessFile& memory, const PageTable& table)
      : memory_(memory), table_(table), header_(table.header_bytes, '\0') {}

  bool ReadParts() {
    uint64_t parts = 0;
    if (!memory_.ReadAt(AddressOf(table_.parts), &parts, sizeof(parts))) return false;
    parts_.resize(table_.part_count);
    const uint64_t size_bytes = parts_.size() * sizeof(uint64_t);
    if (!memory_.ReadAt(parts, parts_.data(), size_bytes)) return false;
    Add(parts, parts + size_bytes, Use::kBackend);
    // The part of address 0 may be shorter, and has no pages.
    if (!parts_.empty()) parts_[0] = 0;
    for (const uint64_t part : parts_) {
      if (part != 0) Add(part, part + table_.part_entries * sizeof(uint64_t), Use::kBackend);
    }
    return true;
  }

  void AddPages(const Mapping& mapping) {
    const uint64_t slice_bytes = table_.slice_bytes;
    const uint64_t end = std::min(mapping.end, kAddresses);
    uint64_t at = (mapping.begin + slice_bytes - 1) / slice_bytes * slice_bytes;
    for (; at < end && !is_exhausted(); ++slices_) at += AddPageAt(at);
  }

  // Whether there was more to read than any heap has.
  bool is_exhausted() const {
    return slices_ > kMostSlices || headers_ > kMostHeaders || part_reads_ > kMostPartReads;
  }

  // Slices of an arena that belong to no page are free, or the allocator's own.  Call at the end.
  void AddRestOfArenas() {
    std::sort(areas_.begin(), areas_.end(), IsBefore);
    const std::vector<Area> pages = areas_;
    for (const uint64_t arena : arenas_) AddRestOf(arena, pages);
  }

  const std::vector<Area>& areas() const { return areas_; }

 private:
  // An empty one stands for memory that is no page.
  struct Page {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t arena = 0;  // 0: a mapping of its own
  };

  template <typename Value>
  Value Field(uint32_t offset) const {
    Value value = 0;
    if (uint64_t{offset} + sizeof(value) <= header_.size()) {
      memcpy(&value, header_.data() + offset, sizeof(value));
    }
    return value;
  }

  template <typename Value>
  Value ReadOr0(uint64_t address) const {
    Value value = 0;
    return memory_.ReadAt(address, &value, sizeof(value)) ? value : 0;
  }

  Area& Add(uint64_t begin, uint64_t end, Use use) {
    Area& area = areas_.emplace_back();
    area.begin = begin;
    area.end = end;
    area.use = use;
    return area;
  }

  // Adds the page that begins at the address.  Returns the bytes that hold no further one.
  uint64_t AddPageAt(uint64_t at) {
    const uint64_t slice = at / table_.slice_bytes;
    const uint64_t number = slice / table_.part_entries;
    const uint64_t to_next_part = (number + 1) * table_.part_entries - slice;
    if (!Load(number)) return to_next_part * table_.slice_bytes;
    const uint64_t header = part_[slice % table_.part_entries];
    if (header == 0) return table_.slice_bytes;
    if (header != header_address_) {
      headers_ += 1;
      header_address_ = header;
      if (!memory_.ReadAt(header, header_.data(), header_.size())) header_address_ = 0;
    }
    if (header_address_ == 0) return table_.slice_bytes;
    const Page page = PageOf(header);
    return page.begin == at && AddPage(page, header) ? page.end - at : table_.slice_bytes;
  }

  // False if the part is not there: then none of its slices has a page.
  bool Load(uint64_t number) {
    if (number >= parts_.size() || parts_[number] == 0) return false;
    if (number == part_number_) return true;
    part_number_ = number;
    part_reads_ += 1;
    part_.resize(table_.part_entries);
    if (!memory_.ReadAt(parts_[number], part_.data(), part_.size() * sizeof(uint64_t))) {
      parts_[number] = 0;
    }
    return parts_[number] != 0;
  }

  Page PageOf(uint64_t header) const {
    const auto kind = Field<uint32_t>(table_.kind_offset);
    Page page;
    if (kind == table_.arena_kind) {
      page.arena = Field<uint64_t>(table_.arena_offset);
      if (page.arena == 0 || page.arena >= kAddresses) return {};
      const uint64_t first = Field<uint32_t>(table_.first_slice_offset);
      const uint64_t count = Field<uint32_t>(table_.slice_count_offset);
      page.begin = page.arena + first * table_.slice_bytes;
      page.end = page.begin + count * table_.slice_bytes;
    } else if (kind >= table_.least_mapping_kind && kind <= table_.most_mapping_kind) {
      const auto begin = Field<uint64_t>(table_.mapping_offset);
      const auto size_bytes = Field<uint64_t>(table_.mapping_bytes_offset);
      if (begin >= kAddresses || size_bytes >= kAddresses || header < begin) return {};
      page.begin = header;
      page.end = begin + size_bytes;
    }
    return page.end > page.begin && page.end <= kAddresses ? page : Page{};
  }

  uint64_t FirstBlock(uint64_t header) const {
    if (table_.start_unit_bytes == 0) return Field<uint64_t>(table_.start_offset);
    return header + uint64_t{Field<uint32_t>(table_.start_offset)} * table_.start_unit_bytes;
  }

  // Returns false if the header is no page's any more: freed pages may stay in the table, and their
  // memory may hold anything.  A page without a live block is free as well, or will be soon; its
  // arena is one all the same.
  bool AddPage(const Page& page, uint64_t header) {
    const uint64_t used = Field<uint16_t>(table_.used_offset);
    const uint64_t capacity = Field<uint16_t>(table_.capacity_offset);
    const uint64_t reserved = Field<uint16_t>(table_.reserved_offset);
    const uint64_t block_bytes = Field<uint64_t>(table_.block_bytes_offset);
    const uint64_t first_block = FirstBlock(header);
    if (reserved == 0 || used > capacity || capacity > reserved || first_block < page.begin ||
        first_block > page.end || block_bytes == 0 ||
        block_bytes > (page.end - first_block) / reserved) {
      return false;
    }
    NoteArena(page.arena);
    if (used == 0) return false;
    Area& area = Add(page.begin, page.end, Use::kBlocks);
    area.live_blocks = used;
    area.live_bytes = used * block_bytes;
    area.large_live_bytes = block_bytes >= kLargeBytes ? area.live_bytes : 0;
    area.listed_bytes = capacity * block_bytes;
    area.first_block = first_block;
    area.block_bytes = block_bytes;
    return true;
  }

  void NoteArena(uint64_t arena) {
    if (arena != 0 && arenas_.size() < kMostArenas &&
        std::find(arenas_.begin(), arenas_.end(), arena) == arenas_.end()) {
      arenas_.push_back(arena);
    }
  }

  void AddRestOf(uint64_t arena, const std::vector<Area>& pages) {
    const auto slices = ReadOr0<uint64_t>(arena + table_.arena_slices_offset);
    const auto own = ReadOr0<uint64_t>(arena + table_.arena_info_offset);
    const auto bitmap = ReadOr0<uint64_t>(arena + table_.arena_free_offset);
    // Its bitmaps lie in its own slices; what a freed page says may be an arena no more.
    if (slices > kMostArenaSlices || own > slices || bitmap < arena ||
        bitmap - arena >= own * table_.slice_bytes) {
      return;
    }
    std::vector<uint8_t> free((slices + 7) / 8);
    if (!memory_.ReadAt(bitmap + table_.bits_offset, free.data(), free.size())) return;
    Area of_arena;
    of_arena.begin = arena;
    auto page = std::lower_bound(pages.begin(), pages.end(), of_arena, IsBefore);
    for (uint64_t slice = 0; slice < slices;) {
      const uint64_t at = arena + slice * table_.slice_bytes;
      while (page != pages.end() && page->end <= at) ++page;
      if (page != pages.end() && page->begin <= at) {
        slice = (page->end - arena + table_.slice_bytes - 1) / table_.slice_bytes;
        continue;
      }
      const bool is_free = slice >= own && (free[slice / 8] >> slice % 8 & 1) != 0;
      const Use use = is_free ? Use::kFreePages : Use::kBackend;
      if (areas_.back().end != at || areas_.back().use != use) Add(at, at, use);
      areas_.back().end = at + table_.slice_bytes;
      slice += 1;
    }
  }

  const ProcessFile& memory_;
  const PageTable& table_;
  std::string header_;  // of a page
  uint64_t header_address_ = 0;
  std::vector<uint64_t> parts_;
  uint64_t part_number_ = UINT64_MAX;
  std::vector<uint64_t> part_;
  std::vector<uint64_t> arenas_;
  std::vector<Area> areas_;
  uint64_t slices_ = 0, headers_ = 0, part_reads_ = 0;
};

}  // namespace

bool AddPagesOfTable(const ProcessFile& memory, const std::vector<Mapping>& mappings,
                     const PageTable& table, std::vector<Area>* areas) {
  if (!IsSound(table)) return false;
  Walk walk(memory, table);
  if (!walk.ReadParts()) return false;
  for (const Mapping& mapping : mappings) {
    if (mapping.is_writable && mapping.inode == 0) walk.AddPages(mapping);
  }
  if (walk.is_exhausted()) return false;
  walk.AddRestOfArenas();
  areas->insert(areas->end(), walk.areas().begin(), walk.areas().end());
  return true;
}

}  // namespace allomon::explain
