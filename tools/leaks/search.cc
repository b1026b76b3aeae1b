#include "tools/leaks/search.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "tools/explain/recorded_blocks.h"
#include "tools/load/recording/recording_profile.h"

namespace allomon::leaks {
namespace {

using explain::Area;
using explain::Mapping;
using explain::Use;
using process_map::SampledBlocks;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kRedZoneBytes = 128;  // below a stack pointer, by the System V ABI

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Memory that a mapping's words are looked for in is no part of the heap, nor of Allomon's tables,
// which refer to all sampled blocks.
bool IsRoot(Use use) { return use == Use::kGuard || use == Use::kManaged || use == Use::kPython; }

}  // namespace

absl::Status Search::Take() {
  const std::string number = std::to_string(process_.pid());
  if (process_.name().empty()) return absl::NotFoundError("there is no process " + number);
  const auto begin = Clock::now();
  const auto stopped = StoppedProcess::Stop(process_.pid());
  if (!stopped.ok()) return stopped.status();
  const absl::Status status = ReadWhileStopped(**stopped);
  stopped_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
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
  const auto entries = explain::ReadEntries(process_.memory(), map_);
  if (!entries.ok()) return entries.status();
  entries_ = *entries;
  in_place_ =
      explain::FindInPlaceBlocks(process_.memory(), mappings_).value_or(explain::InPlaceBlocks{});
  AddTable(in_place_);
  registers_ = stopped.registers();
  stack_pointers_ = stopped.stack_pointers();
  sleeping_threads_ = stopped.sleeping();
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
    const uint64_t number = blocks_.Add(block.begin, block.begin + block.size_bytes, 0);
    sampled_.push_back({{number, block.begin, block.size_bytes}, block.entry});
  });
}

// The table of blocks in place refers to all of them, and lies in the library's data.
void Search::AddTable(const explain::InPlaceBlocks& in_place) {
  if (in_place.table_end <= in_place.table_begin) return;
  Area table;
  table.begin = in_place.table_begin;
  table.end = in_place.table_end;
  table.use = Use::kTables;
  const auto after =
      std::upper_bound(areas_.begin(), areas_.end(), table,
                       [](const Area& a, const Area& b) { return a.begin < b.begin; });
  areas_.insert(after, table);
}

// They are blocks of the allocator's pages, which are known by now.
void Search::AddBlocksInPlace() {
  for (const explain::InPlaceBlock& in_place : in_place_.blocks) {
    Blocks::Block block;
    if (blocks_.Find(in_place.address, &block)) sampled_.push_back({block, in_place.entry});
  }
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
void Search::AddRootsOf(const Mapping& mapping) {
  uint64_t begin = BeginOfStack(mapping);
  for (const Area& area : areas_) {
    if (area.end <= begin || area.begin >= mapping.end || IsRoot(area.use)) continue;
    if (area.begin > begin) marker_.AddRoots(begin, area.begin);
    begin = area.end;
  }
  if (begin < mapping.end) marker_.AddRoots(begin, mapping.end);
}

void Search::Mark(bool keeps_referrers) {
  AddAreas();
  blocks_.Sort();
  AddBlocksInPlace();
  if (keeps_referrers) marker_.KeepReferrers();
  for (const uint64_t word : registers_) marker_.AddWord(word, Marker::kRegister);
  for (const Mapping& mapping : mappings_) {
    if (HasWords(mapping)) AddRootsOf(mapping);
  }
  marker_.Finish();
}

absl::StatusOr<heap::HeapProfile> Search::ProfileOf(const std::vector<size_t>& chosen,
                                                    const std::string& debug_dir) {
  const auto read = [this](uint64_t address, void* to, size_t size_bytes) {
    return snapshot_.ReadAt(address, to, size_bytes);
  };
  explain::RecordedBlocks recorded;
  for (const size_t place : chosen) recorded.Add(read, entries_, sampled_[place].entry, place);
  place_of_.clear();
  recording::RecordingOptions options;
  options.debug_dir = debug_dir;
  options.keeps_live = [&](const recording::Process& process, uint32_t number) {
    const size_t place = recorded.Find(process, number);
    if (place == explain::RecordedBlocks::kNone) return false;
    place_of_[number] = place;
    return true;
  };
  auto profile = explain::ReadOwnRecording(process_, areas_, options);
  if (profile.ok()) profile->memory = {};  // it is of all blocks
  return profile;
}

std::optional<size_t> Search::SampledOf(uint32_t live_number) const {
  const auto known = place_of_.find(live_number);
  if (known == place_of_.end()) return std::nullopt;
  return known->second;
}

}  // namespace allomon::leaks
