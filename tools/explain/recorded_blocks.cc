#include "tools/explain/recorded_blocks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "tracker/formats/recording_bytes.h"

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

// The file of a recording, read where the process has it mapped.
class MappedRecording final : public recording::RecordingBytes {
 public:
  MappedRecording(const Process& process, const Area& area)
      : process_(process), begin_(area.begin), size_bytes_(area.end - area.begin) {}

  uint64_t size() const override { return size_bytes_; }
  bool Read(uint64_t offset, void* to, size_t count) const override {
    return offset <= size_bytes_ && count <= size_bytes_ - offset &&
           process_.memory().ReadAt(begin_ + offset, to, count);
  }

 private:
  const Process& process_;
  const uint64_t begin_;
  const uint64_t size_bytes_;
};

}  // namespace

absl::StatusOr<process_map::Entries> ReadEntries(const ProcessFile& memory,
                                                 const process_map::ProcessMap& map) {
  process_map::Entries entries;
  if (map.entries != nullptr && memory.ReadAt(AddressOf(map.entries), &entries, sizeof(entries))) {
    return entries;
  }
  return absl::FailedPreconditionError("its Allomon cannot record");
}

absl::StatusOr<heap::HeapProfile> ReadOwnRecording(const Process& process,
                                                   const std::vector<Area>& areas,
                                                   recording::RecordingOptions options) {
  options.running = {process.pid(), process.OwnId()};
  options.seen_nanos = recording::NanosSinceStart;
  absl::Status why_not = absl::FailedPreconditionError(
      "it records nothing, so no block of it is known: allomon ctl " +
      std::to_string(process.pid()) + " start, or allomon run from its start on");
  for (const Area& area : areas) {
    if (area.use != Use::kRecording) continue;
    auto profiles =
        recording::ReadRecordingProfiles(MappedRecording(process, area), "its recording", options);
    if (profiles.ok()) return std::move(profiles->front());
    why_not = profiles.status();
  }
  return why_not;
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
    by_number_.emplace(name.number, Named{name.serial, name.row, name.thread, block});
    if (!read(entry + entries.next_offset, &id, sizeof(id))) return;
  }
}

// Blocks that the parent sampled before a fork, or this process in an earlier recording, keep their
// entries, with numbers of that recording.  It has another serial, which no file tells: the
// recording's own is the one that agrees with most of its live blocks.
uint32_t RecordedBlocks::SerialOf(const recording::Process& process) const {
  std::map<uint32_t, size_t> agreeing;
  for (const auto& [number, named] : by_number_) {
    if (IsNamed(process, number, named)) ++agreeing[named.serial];
  }
  // Of equal ones the last, which began later.
  const auto most =
      std::max_element(agreeing.rbegin(), agreeing.rend(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == agreeing.rend() ? 0 : most->first;
}

// Values of other trackers' entries may be anything; row and thread tell.
bool RecordedBlocks::IsNamed(const recording::Process& process, uint32_t number,
                             const Named& named) {
  if (number == 0 || number > process.live.size()) return false;
  const recording::LiveBlock& live = process.live[number - 1];
  return live.row != 0 && named.row == live.row && named.thread == live.thread;
}

size_t RecordedBlocks::Find(const recording::Process& process, uint32_t number) {
  if (!serial_.has_value()) serial_ = SerialOf(process);
  const auto [begin, end] = by_number_.equal_range(number);
  for (auto at = begin; at != end; ++at) {
    if (at->second.serial == *serial_ && IsNamed(process, number, at->second)) {
      return at->second.block;
    }
  }
  return kNone;
}

}  // namespace allomon::explain
