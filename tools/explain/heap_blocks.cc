#include "tools/explain/heap_blocks.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "tools/explain/notes.h"
#include "tools/explain/page_table.h"
#include "tracker/formats/process_map.h"

namespace allomon::explain {
namespace {

using process_map::HeapLayout;
using process_map::MappedBlocks;
using process_map::PageTable;
using process_map::ProcessMap;
using process_map::SampledBlocks;
using process_map::Segments;

template <typename Value>
bool Read(const ProcessFile& memory, uint64_t address, Value* value) {
  return memory.ReadAt(address, value, sizeof(*value));
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename Value>
bool Read(const ProcessFile& memory, const void* address, Value* value) {
  return address != nullptr && Read(memory, AddressOf(address), value);
}

class Walk {
 public:
  Walk(const Process& process, const std::vector<Mapping>& mappings, HeapBlocks* found)
      : process_(process), memory_(process.memory()), mappings_(mappings), found_(*found) {}

  void AddOwnMappings(const ProcessMap& map) {
    uint64_t count = 0;
    if (!Read(memory_, map.own_mapping_count, &count)) return;
    count = std::min({count, map.own_mapping_room, uint64_t{1} << 20});
    std::vector<process_map::OwnMapping> entries(count);
    if (!memory_.ReadAt(AddressOf(map.own_mappings), entries.data(),
                        count * sizeof(process_map::OwnMapping))) {
      return;
    }
    for (const process_map::OwnMapping& entry : entries) {
      constexpr uint64_t kFirstPage = 4096;
      const Use uses[] = {Use::kTables, Use::kRecording, Use::kGuard, Use::kManaged};
      const uint64_t use = entry.bytes_and_use & 0xff;
      if (entry.begin >= kFirstPage && use < std::size(uses)) {
        Add(entry.begin, entry.bytes_and_use >> 8, uses[use]);
      }
    }
  }

  void AddSampledBlocks(const ProcessMap& map) {
    SampledBlocks sampled;
    if (!Read(memory_, map.sampled, &sampled) || sampled.begin == 0) return;
    const uint64_t runs = sampled.begin + sampled.slot_area_bytes;
    const uint64_t tables = AddressOf(sampled.words);
    if (runs < sampled.begin || tables < runs || sampled.end < tables) return;
    Area slots = AreaOf(sampled.begin, sampled.slot_area_bytes, Use::kSampledBlocks);
    Area of_runs = AreaOf(runs, tables - runs, Use::kSampledBlocks);
    const auto read = [this](uint64_t address, void* to, size_t size_bytes) {
      return memory_.ReadAt(address, to, size_bytes);
    };
    VisitSampledBlocks(read, map, sampled, [&](const SampledBlock& block) {
      Area& area = block.begin < runs ? slots : of_runs;
      area.live_bytes += block.size_bytes;
      area.live_blocks += 1;
    });
    of_runs.large_live_bytes = of_runs.live_bytes;  // a granule is as large
    found_.areas.insert(found_.areas.end(), {slots, of_runs});
    Add(tables, sampled.end - tables, Use::kTables);
    // A span keeps its class, and runs are counted that were handed out once.
    uint8_t first_class = 0;
    uint64_t run_count = 0;
    has_sampled_ = (Read(memory_, sampled.span_classes, &first_class) && first_class != 0) ||
                   (Read(memory_, sampled.run_count, &run_count) && run_count != 0);
  }

  // Whether a sampled block was ever handed out.  At a rate of 1 a small program has no others.
  bool has_sampled() const { return has_sampled_; }

  void AddMappedBlocks(const void* description) {
    MappedBlocks mapped;
    if (!Read(memory_, description, &mapped) || mapped.leaf_count > 1 << 20 ||
        mapped.cell_count > 1 << 20) {
      return;
    }
    std::vector<uint64_t> leaves(mapped.leaf_count);
    std::vector<uint64_t> cells(mapped.cell_count);
    if (!memory_.ReadAt(AddressOf(mapped.leaves), leaves.data(), leaves.size() * 8)) return;
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (leaves[leaf] == 0 || !memory_.ReadAt(leaves[leaf], cells.data(), cells.size() * 8)) {
        continue;
      }
      for (size_t cell = 0; cell < cells.size(); ++cell) {
        const uint64_t word = cells[cell];
        if (word == 0) continue;
        const uint64_t first = mapped.first_address +
                               (leaf * mapped.cell_count + cell) * mapped.cell_bytes +
                               (word & 0xfff) * 4096;
        Area& block = Add(first, (word >> 12) * 4096, Use::kLargeBlock);
        block.live_blocks = 1;
        block.live_bytes = block.large_live_bytes = (word >> 12) * 4096;
      }
    }
  }

  // False if the heap is not described so.
  bool AddPages(const HeapLayout& layout) {
    PageTable table;
    if (Read(memory_, layout.page_table, &table)) {
      return AddPagesOfTable(memory_, mappings_, table, &found_.areas);
    }
    Segments segments;
    return Read(memory_, layout.segments, &segments) && AddSegments(segments);
  }

 private:
  static bool IsSound(const Segments& segments) {
    constexpr uint64_t kMostSegmentBytes = uint64_t{1} << 30;
    return segments.slice_bytes != 0 && segments.segment_bytes != 0 &&
           segments.segment_bytes <= kMostSegmentBytes &&
           segments.slice_bytes <= segments.segment_bytes && segments.entry_bytes <= 4096 &&
           segments.slices_offset <= 1 << 20;
  }

  bool AddSegments(const Segments& segments) {
    uint64_t cookie = 0;
    if (!IsSound(segments) || !Read(memory_, segments.cookie, &cookie)) return false;
    header_.resize(segments.slices_offset +
                   (segments.segment_bytes / segments.slice_bytes) * segments.entry_bytes);
    for (const Mapping& mapping : mappings_) {
      if (!mapping.is_writable || mapping.inode != 0) continue;
      uint64_t at = (mapping.begin + segments.segment_bytes - 1) / segments.segment_bytes *
                    segments.segment_bytes;
      for (; at < mapping.end; at += segments.segment_bytes) {
        uint64_t word = 0;
        const uint64_t place = at + segments.cookie_offset;
        // Most multiples of the size begin no segment.  To read one in memory that was never
        // touched would give the process a page of its page table for each.
        if (process_.HasContentAt(place) && Read(memory_, place, &word) && word == (at ^ cookie) &&
            memory_.ReadAt(at, header_.data(), header_.size())) {
          AddSegment(segments, at);
        }
      }
    }
    return true;
  }

  template <typename Value>
  Value Field(size_t offset) const {
    Value value = 0;
    if (offset <= header_.size() && header_.size() - offset >= sizeof(value)) {
      memcpy(&value, header_.data() + offset, sizeof(value));
    }
    return value;
  }

  static Area AreaOf(uint64_t begin, uint64_t size_bytes, Use use) {
    Area area;
    area.begin = begin;
    area.end = begin + size_bytes;
    area.use = use;
    return area;
  }
  Area& Add(uint64_t begin, uint64_t size_bytes, Use use) {
    return found_.areas.emplace_back(AreaOf(begin, size_bytes, use));
  }

  void AddSegment(const Segments& segments, uint64_t at) {
    const auto slices = Field<uint64_t>(segments.slice_count_offset);
    const auto own = Field<uint64_t>(segments.info_count_offset);
    // A segment with one block may have more slices than entries.
    if (own > slices || slices > (uint64_t{1} << 46) / segments.slice_bytes) return;
    Add(at, own * segments.slice_bytes, Use::kBackend);
    if (Field<uint32_t>(segments.kind_offset) == segments.huge_kind) {
      const bool is_live = Field<uint64_t>(segments.used_offset) != 0;
      const uint64_t size_bytes = (slices - own) * segments.slice_bytes;
      Area& block = Add(at + own * segments.slice_bytes, size_bytes,
                        is_live ? Use::kLargeBlock : Use::kFreePages);
      block.live_bytes = block.large_live_bytes = is_live ? size_bytes : 0;
      block.live_blocks = is_live ? 1 : 0;
      return;
    }
    for (uint64_t slice = own; slice < slices;) {
      const size_t entry = segments.slices_offset + slice * segments.entry_bytes;
      const uint64_t count =
          std::min<uint64_t>(Field<uint32_t>(entry + segments.entry_count_offset), slices - slice);
      if (count == 0) return;  // the segment is being changed: the rest is the backend's
      AddPage(segments, entry, at + slice * segments.slice_bytes, count * segments.slice_bytes);
      slice += count;
    }
  }

  // Pages that are changing owners have a block size of 1.
  void AddPage(const Segments& segments, size_t entry, uint64_t begin, uint64_t size_bytes) {
    const uint64_t block_bytes = Field<uint32_t>(entry + segments.entry_size_offset);
    const uint64_t used = Field<uint32_t>(entry + segments.entry_used_offset);
    const uint64_t capacity = Field<uint16_t>(entry + segments.entry_capacity_offset);
    if (block_bytes <= 1 || used == 0 || used > capacity ||
        block_bytes > size_bytes / std::max<uint64_t>(capacity, 1)) {
      Add(begin, size_bytes, Use::kFreePages);
      return;
    }
    Area& page = Add(begin, size_bytes, Use::kBlocks);
    page.live_bytes = used * block_bytes;
    page.listed_bytes = capacity * block_bytes;
    page.block_bytes = block_bytes;
    page.first_block =
        begin + (block_bytes <= segments.most_offset_bytes ? segments.first_block_offset : 0);
    page.live_blocks = used;
    page.large_live_bytes = block_bytes >= kLargeBytes ? page.live_bytes : 0;
  }

  const Process& process_;
  const ProcessFile& memory_;
  const std::vector<Mapping>& mappings_;
  HeapBlocks& found_;
  std::string header_;  // of a segment
  bool has_sampled_ = false;
};

}  // namespace

namespace {

void VisitSlots(const ReadMemory& read, const ProcessMap& map, const SampledBlocks& sampled,
                const std::function<void(const SampledBlock&)>& visit) {
  if (sampled.span_bytes == 0 || sampled.slots_per_span > 1 << 16) return;
  const uint64_t spans = std::min<uint64_t>(sampled.slot_area_bytes / sampled.span_bytes, 1 << 20);
  std::vector<uint8_t> classes(spans);
  if (!read(AddressOf(sampled.span_classes), classes.data(), spans)) return;
  std::vector<uint32_t> words(sampled.slots_per_span);
  for (uint64_t span = 0; span < spans; ++span) {
    const uint8_t of_span = classes[span];
    if (of_span == 0) return;
    const uint64_t slot_bytes = of_span < process_map::kSlotClasses ? map.slot_bytes[of_span] : 0;
    const uint64_t size_bytes = words.size() * sizeof(uint32_t);
    if (slot_bytes == 0 ||
        !read(AddressOf(sampled.words) + span * size_bytes, words.data(), size_bytes)) {
      continue;
    }
    const uint64_t slots = std::min<uint64_t>(sampled.span_bytes / slot_bytes, words.size());
    for (uint64_t i = 0; i < slots; ++i) {
      if (words[i] == 0 || (words[i] & sampled.free_bit) != 0) continue;
      visit({sampled.begin + span * sampled.span_bytes + i * slot_bytes, slot_bytes, words[i]});
    }
  }
}

void VisitRuns(const ReadMemory& read, const ProcessMap& map, const SampledBlocks& sampled,
               const std::function<void(const SampledBlock&)>& visit) {
  uint64_t count = 0;
  if (!read(AddressOf(sampled.run_count), &count, sizeof(count)) || sampled.run_entry_bytes < 8 ||
      sampled.run_class_offset >= sampled.run_entry_bytes || sampled.run_entry_bytes > 64) {
    return;
  }
  std::string entries(std::min<uint64_t>(count, 1 << 25) * sampled.run_entry_bytes, '\0');
  if (!read(AddressOf(sampled.run_entries), entries.data(), entries.size())) return;
  uint64_t begin = sampled.begin + sampled.slot_area_bytes;
  for (size_t at = 0; at < entries.size();
       at += sampled.run_entry_bytes, begin += sampled.granule_bytes) {
    uint32_t word = 0;
    memcpy(&word, entries.data() + at, sizeof(word));
    const auto of_run = static_cast<uint8_t>(entries[at + sampled.run_class_offset]);
    if (word == 0 || of_run >= process_map::kRunClasses) continue;
    visit({begin, uint64_t{map.run_granules[of_run]} * sampled.granule_bytes, word});
  }
}

}  // namespace

void VisitSampledBlocks(const ReadMemory& read, const ProcessMap& map, const SampledBlocks& sampled,
                        const std::function<void(const SampledBlock& block)>& visit) {
  VisitSlots(read, map, sampled, visit);
  VisitRuns(read, map, sampled, visit);
}

void MakeDisjoint(std::vector<Area>* areas) {
  std::sort(areas->begin(), areas->end(),
            [](const Area& a, const Area& b) { return a.begin < b.begin; });
  uint64_t end = 0;
  const auto overlaps = [&end](const Area& area) {
    if (area.begin < end || area.end <= area.begin) return true;
    end = area.end;
    return false;
  };
  areas->erase(std::remove_if(areas->begin(), areas->end(), overlaps), areas->end());
}

absl::StatusOr<ProcessMap> FindProcessMap(const ProcessFile& memory,
                                          const std::vector<Mapping>& mappings) {
  if (memory.error() != 0) {
    return absl::PermissionDeniedError(
        "its memory may not be read, so its heap is not split; ask as root, or as the user and the "
        "parent of the process");
  }
  for (const uint64_t address : FindNotes(memory, mappings, process_map::kNoteType)) {
    ProcessMap map;
    if (!Read(memory, address, &map) ||
        memcmp(map.magic, process_map::kMagic, sizeof(map.magic)) != 0) {
      continue;
    }
    if (map.version != process_map::kVersion || map.size_bytes != sizeof(map)) {
      return absl::FailedPreconditionError(
          "it has another version of Allomon; use the allomon that came with its library");
    }
    return map;
  }
  return absl::NotFoundError(
      "Allomon is not in this process, so its heap is not split; start it by allomon run");
}

absl::StatusOr<HeapBlocks> FindHeapBlocks(const Process& process,
                                          const std::vector<Mapping>& mappings) {
  const auto map = FindProcessMap(process.memory(), mappings);
  if (!map.ok()) return map.status();
  HeapBlocks found;
  Walk walk(process, mappings, &found);
  walk.AddOwnMappings(*map);
  walk.AddSampledBlocks(*map);
  HeapLayout layout;
  const bool is_described = Read(process.memory(), map->heap_layout, &layout);
  if (!is_described) {
    found.not_known = "the blocks of this backend are not counted from outside";
  } else {
    layout.backend[sizeof(layout.backend) - 1] = '\0';
    found.backend = layout.backend;
    walk.AddMappedBlocks(layout.mapped_blocks);
    if (!walk.AddPages(layout)) found.not_known = "the heap cannot be read";
    const bool has_blocks = std::any_of(
        found.areas.begin(), found.areas.end(),
        [](const Area& area) { return area.use == Use::kBlocks || area.use == Use::kLargeBlock; });
    if (!has_blocks && !walk.has_sampled() && found.not_known.empty()) {
      found.backend.clear();
      found.not_known =
          "the process has allocated nothing, or has a malloc of its own, whose blocks are not "
          "counted";
    }
  }
  MakeDisjoint(&found.areas);
  return found;
}

}  // namespace allomon::explain
