#include "tools/pages/process_blocks.h"

#include <utility>

#include "tools/explain/in_place_blocks.h"
#include "tools/options/values.h"

namespace allomon::pages {

absl::Status ProcessBlocks::Open() {
  if (process_.name().empty()) {
    return absl::NotFoundError("there is no process " + std::to_string(process_.pid()));
  }
  const auto smaps = process_.Smaps();
  if (!smaps.ok()) return smaps.status();
  mappings_ = explain::ParseMappings(*smaps);
  const auto map = explain::FindProcessMap(process_.memory(), mappings_);
  if (!map.ok()) return map.status();
  map_ = *map;
  const auto entries = explain::ReadEntries(process_.memory(), map_);
  if (!entries.ok()) return entries.status();
  entries_ = *entries;
  return absl::OkStatus();
}

absl::Status ProcessBlocks::ReadHeap() {
  auto heap = explain::FindHeapBlocks(process_, mappings_);
  if (!heap.ok()) return heap.status();
  heap_ = *std::move(heap);
  return absl::OkStatus();
}

std::vector<ProcessBlocks::Place> ProcessBlocks::ListSampled() {
  std::vector<Place> places;
  const auto add = [&](uint32_t entry, uint64_t begin, uint64_t room_bytes) {
    Name(entry, places.size());
    places.push_back({begin, room_bytes});
  };
  process_map::SampledBlocks sampled = {};
  const uint64_t address = reinterpret_cast<uintptr_t>(map_.sampled);
  if (ReadMemory(address, &sampled, sizeof(sampled)) && sampled.begin != 0) {
    const auto read = [this](uint64_t from, void* to, size_t size_bytes) {
      return ReadMemory(from, to, size_bytes);
    };
    explain::VisitSampledBlocks(read, map_, sampled, [&](const explain::SampledBlock& block) {
      add(block.entry, block.begin, block.size_bytes);
    });
  }
  // It is no error if the process keeps no block in place.
  const auto found = explain::FindInPlaceBlocks(process_.memory(), mappings_);
  if (!found.ok()) return places;
  for (const explain::InPlaceBlock& block : found->blocks) {
    add(block.entry, block.address, UINT64_MAX - block.address);
  }
  return places;
}

void ProcessBlocks::Name(uint32_t first_entry, size_t block) {
  const auto read = [this](uint64_t address, void* to, size_t size_bytes) {
    return ReadMemory(address, to, size_bytes);
  };
  names_.Add(read, entries_, first_entry, block);
}

absl::StatusOr<heap::HeapProfile> ReadProcess(
    const std::string& process,
    const std::function<absl::StatusOr<heap::HeapProfile>(uint32_t pid)>& read) {
  uint32_t pid = 0;
  const absl::Status is_id = options::ParsePid(process, &pid);
  if (!is_id.ok()) return is_id;
  auto profile = read(pid);
  if (profile.ok()) return profile;
  return absl::Status(profile.status().code(),
                      "process " + process + ": " + std::string(profile.status().message()));
}

}  // namespace allomon::pages
