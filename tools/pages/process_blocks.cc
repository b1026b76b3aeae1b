#include "tools/pages/process_blocks.h"

#include <utility>

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
