#include "tools/leaks/unreachable.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/leaks/reach.h"
#include "tools/leaks/snapshot.h"
#include "tools/leaks/stopped_process.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/text/amounts.h"
#include "tracker/formats/process_map.h"

namespace allomon::leaks {
namespace {

using explain::Area;
using explain::Mapping;
using explain::Use;
using process_map::Entries;
using process_map::ProcessMap;
using process_map::SampledBlocks;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRedZoneBytes = 128;  // below a stack pointer, by the System V ABI
constexpr int kMostEntries = 16;         // of a block, more than there may be trackers

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The value of a recording's entry (process_map::Entries).
struct BlockName {
  uint32_t serial;
  uint32_t number;
  uint32_t row;
  uint32_t thread;
};

struct SampledBlock {
  uint64_t mark;   // number among the blocks
  uint32_t entry;  // its first entry
};

// Memory that a mapping's words are looked for in is no part of the heap, nor of Allomon's tables,
// which refer to all sampled blocks.
bool IsRoot(Use use) { return use == Use::kGuard || use == Use::kManaged || use == Use::kPython; }

// Reads the file of a recording where the process has it mapped.
class MappedRecording final : public recording::RecordingBytes {
 public:
  MappedRecording(const explain::Process& process, const Area& area)
      : process_(process), begin_(area.begin), size_bytes_(area.end - area.begin) {}

  uint64_t size() const override { return size_bytes_; }
  bool Read(uint64_t offset, void* to, size_t count) const override {
    return offset <= size_bytes_ && count <= size_bytes_ - offset &&
           process_.memory().ReadAt(begin_ + offset, to, count);
  }

 private:
  const explain::Process& process_;
  const uint64_t begin_;
  const uint64_t size_bytes_;
};

class Search {
 public:
  explicit Search(uint32_t pid) : process_(pid) {}

  absl::Status Take();
  void Mark();
  absl::StatusOr<heap::HeapProfile> Profile(const std::string& debug_dir);

  Unreachable found;

 private:
  absl::Status ReadWhileStopped(const StoppedProcess& stopped);
  void AddAreas();
  void AddRootsOf(const Mapping& mapping, Marker* marker) const;
  uint64_t BeginOfStack(const Mapping& mapping) const;
  void NameBlocks();
  bool IsUnreachable(const recording::Process& process, uint32_t number) const;

  const explain::Process process_;
  std::vector<Mapping> mappings_;
  std::vector<Area> areas_;
  ProcessMap map_ = {};
  Entries entries_ = {};
  Snapshot snapshot_;
  std::vector<uint64_t> registers_;
  std::vector<uint64_t> stack_pointers_;
  Blocks blocks_;
  std::vector<SampledBlock> sampled_;
  // Rows and threads that entries of unreachable blocks tell, by the number of the live block.
  std::unordered_multimap<uint32_t, BlockName> unreachable_;
};

absl::Status Search::Take() {
  const std::string number = std::to_string(process_.pid());
  if (process_.name().empty()) return absl::NotFoundError("there is no process " + number);
  const auto begin = Clock::now();
  const auto stopped = StoppedProcess::Stop(process_.pid());
  if (!stopped.ok()) return stopped.status();
  const absl::Status status = ReadWhileStopped(**stopped);
  found.stopped_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return status;
}

absl::Status Search::ReadWhileStopped(const StoppedProcess& stopped) {
  const auto smaps = process_.Smaps();
  if (!smaps.ok()) return smaps.status();
  mappings_ = explain::ParseMappings(*smaps);
  auto heap = explain::FindHeapBlocks(process_, mappings_);
  if (!heap.ok()) return heap.status();
  if (!heap->not_known.empty()) {
    return absl::FailedPreconditionError(heap->not_known + ", so what they refer to is not known");
  }
  areas_ = std::move(heap->areas);
  const auto map = explain::FindProcessMap(process_.memory(), mappings_);
  if (!map.ok()) return map.status();
  map_ = *map;
  if (map_.entries == nullptr ||
      !process_.memory().ReadAt(AddressOf(map_.entries), &entries_, sizeof(entries_))) {
    return absl::FailedPreconditionError("its Allomon cannot record");
  }
  registers_ = stopped.registers();
  stack_pointers_ = stopped.stack_pointers();
  found.sleeping_threads = stopped.sleeping();
  return snapshot_.Copy(process_, mappings_);
}

void Search::AddAreas() {
  for (const Area& area : areas_) {
    if (area.use == Use::kLargeBlock) blocks_.Add(area.begin, area.end, 0);
    if (area.use != Use::kBlocks || area.block_bytes == 0) continue;
    const uint64_t end = std::min(
        area.end, area.first_block + area.listed_bytes / area.block_bytes * area.block_bytes);
    blocks_.Add(area.first_block, end, area.block_bytes);
  }
  SampledBlocks sampled = {};
  if (!snapshot_.Read(AddressOf(map_.sampled), &sampled) || sampled.begin == 0) return;
  const auto read = [this](uint64_t address, void* to, size_t size_bytes) {
    return snapshot_.ReadAt(address, to, size_bytes);
  };
  explain::VisitSampledBlocks(read, map_, sampled, [this](const explain::SampledBlock& block) {
    sampled_.push_back({blocks_.Add(block.begin, block.begin + block.size_bytes, 0), block.entry});
  });
}

// Words below the stack pointers of a mapping are of calls that have returned.
uint64_t Search::BeginOfStack(const Mapping& mapping) const {
  uint64_t begin = UINT64_MAX;
  for (const uint64_t pointer : stack_pointers_) {
    if (mapping.begin <= pointer && pointer < mapping.end) begin = std::min(begin, pointer);
  }
  return begin == UINT64_MAX ? mapping.begin : std::max(mapping.begin, begin - kRedZoneBytes);
}

// Areas are sorted and do not overlap.
void Search::AddRootsOf(const Mapping& mapping, Marker* marker) const {
  uint64_t begin = BeginOfStack(mapping);
  for (const Area& area : areas_) {
    if (area.end <= begin || area.begin >= mapping.end || IsRoot(area.use)) continue;
    if (area.begin > begin) marker->AddRoots(begin, area.begin);
    begin = area.end;
  }
  if (begin < mapping.end) marker->AddRoots(begin, mapping.end);
}

void Search::Mark() {
  AddAreas();
  blocks_.Sort();
  Marker marker(snapshot_, &blocks_);
  for (const uint64_t word : registers_) marker.AddWord(word);
  for (const Mapping& mapping : mappings_) {
    if (HasWords(mapping)) AddRootsOf(mapping, &marker);
  }
  marker.Finish();
  found.sampled_blocks = sampled_.size();
  NameBlocks();
}

void Search::NameBlocks() {
  for (const SampledBlock& block : sampled_) {
    if (blocks_.IsReached(block.mark)) continue;
    ++found.unreachable_blocks;
    uint32_t id = block.entry;
    for (int i = 0; i < kMostEntries && id != 0; ++i) {
      if (entries_.segment_entries == 0 ||
          id / entries_.segment_entries >= entries_.segment_count) {
        break;
      }
      uint64_t segment = 0;
      snapshot_.Read(AddressOf(entries_.segments) + id / entries_.segment_entries * 8, &segment);
      const uint64_t entry = segment + id % entries_.segment_entries * entries_.entry_bytes;
      BlockName name;
      if (segment == 0 || !snapshot_.Read(entry + entries_.value_offset, &name)) break;
      unreachable_.emplace(name.number, name);
      if (!snapshot_.Read(entry + entries_.next_offset, &id)) break;
    }
  }
}

// Values of other trackers' entries may be anything; row and thread tell.
bool Search::IsUnreachable(const recording::Process& process, uint32_t number) const {
  const recording::LiveBlock& block = process.live[number - 1];
  const auto [begin, end] = unreachable_.equal_range(number);
  return std::any_of(begin, end, [&block](const auto& named) {
    return named.second.row == block.row && named.second.thread == block.thread;
  });
}

absl::StatusOr<heap::HeapProfile> Search::Profile(const std::string& debug_dir) {
  const uint32_t own_id = process_.OwnId();
  recording::RecordingOptions options;
  options.debug_dir = debug_dir;
  options.is_chosen = [own_id](const recording::Process& process) {
    return process.record.pid == own_id && !process.record.ended;
  };
  options.seen_nanos = recording::NanosSinceStart;
  options.keeps_live = [this](const recording::Process& process, uint32_t number) {
    return IsUnreachable(process, number);
  };
  for (const Area& area : areas_) {
    if (area.use != Use::kRecording) continue;
    auto profiles =
        recording::ReadRecordingProfiles(MappedRecording(process_, area), "its recording", options);
    if (profiles.ok()) return std::move(profiles->front());
  }
  return absl::FailedPreconditionError(
      "it records nothing, so no block of it is known: allomon ctl " +
      std::to_string(process_.pid()) + " start, or allomon run from its start on");
}

std::string NoteOf(const Unreachable& found) {
  return "only sampled blocks to which nothing refers: " +
         std::to_string(found.unreachable_blocks) + " of " + std::to_string(found.sampled_blocks) +
         "; the process stood for " + report::SecondsText(found.stopped_seconds) +
         (found.sleeping_threads == 0
              ? ""
              : "; registers of " + std::to_string(found.sleeping_threads) +
                    " threads are not known, since they sleep in the kernel");
}

}  // namespace

absl::StatusOr<Unreachable> FindUnreachable(uint32_t pid, const std::string& debug_dir) {
  Search search(pid);
  const absl::Status status = search.Take();
  if (!status.ok()) return status;
  search.Mark();
  auto profile = search.Profile(debug_dir);
  if (!profile.ok()) return profile.status();
  search.found.profile = *std::move(profile);
  search.found.profile.memory = {};  // it is of all blocks
  search.found.profile.notes.push_back(NoteOf(search.found));
  return std::move(search.found);
}

}  // namespace allomon::leaks
