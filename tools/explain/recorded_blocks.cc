#include "tools/explain/recorded_blocks.h"

namespace allomon::explain {
namespace {

constexpr int kMostEntries = 16;  // of a block, more than there may be trackers

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The value of a recording's entry (process_map::Entries).
struct BlockName {
  uint32_t serial;
  uint32_t number;
  uint32_t row;
  uint32_t thread;
};

}  // namespace

bool MappedRecording::Read(uint64_t offset, void* to, size_t count) const {
  return offset <= size_bytes_ && count <= size_bytes_ - offset &&
         process_.memory().ReadAt(begin_ + offset, to, count);
}

void RecordedBlocks::Add(const ReadMemory& read, const process_map::Entries& entries,
                         uint32_t first_entry, size_t block) {
  uint32_t id = first_entry;
  for (int i = 0; i < kMostEntries && id != 0; ++i) {
    if (entries.segment_entries == 0 || id / entries.segment_entries >= entries.segment_count) {
      return;
    }
    uint64_t segment = 0;
    const uint64_t place = AddressOf(entries.segments) + id / entries.segment_entries * 8;
    if (!read(place, &segment, sizeof(segment)) || segment == 0) return;
    const uint64_t entry = segment + id % entries.segment_entries * entries.entry_bytes;
    BlockName name;
    if (!read(entry + entries.value_offset, &name, sizeof(name))) return;
    by_number_.emplace(name.number, Named{name.row, name.thread, block});
    if (!read(entry + entries.next_offset, &id, sizeof(id))) return;
  }
}

// Values of other trackers' entries may be anything; row and thread tell.
size_t RecordedBlocks::Find(const recording::Process& process, uint32_t number) const {
  const recording::LiveBlock& live = process.live[number - 1];
  const auto [begin, end] = by_number_.equal_range(number);
  for (auto at = begin; at != end; ++at) {
    if (at->second.row == live.row && at->second.thread == live.thread) return at->second.block;
  }
  return kNone;
}

}  // namespace allomon::explain
