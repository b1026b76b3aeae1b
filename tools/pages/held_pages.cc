#include "tools/pages/held_pages.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/in_place_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/explain/python_arenas.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/heap/held.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/options/values.h"
#include "tracker/formats/process_map.h"

namespace allomon::pages {
namespace {

using explain::Area;
using explain::Use;

class Reader {
 public:
  explicit Reader(uint32_t pid) : process_(pid) {}

  absl::Status Read();
  absl::StatusOr<heap::HeapProfile> Profile(const std::string& debug_dir);

 private:
  absl::Status ReadBlocks(const std::vector<explain::Mapping>& mappings);
  absl::Status ReadNames(const std::vector<explain::Mapping>& mappings);
  std::optional<recording::Held> HeldBy(const recording::Process& process, uint32_t number);
  heap::Pages CountPages() const;
  // Whether objects of Python lie in arenas.
  bool HasPython() const;

  const explain::Process process_;
  std::vector<Area> areas_;
  explain::InPlaceBlocks in_place_;
  explain::RecordedBlocks names_;
  uint64_t known_blocks_ = 0;  // that are in a page and in a row
};

absl::Status Reader::Read() {
  const std::string number = std::to_string(process_.pid());
  if (process_.name().empty()) return absl::NotFoundError("there is no process " + number);
  const auto smaps = process_.Smaps();
  if (!smaps.ok()) return smaps.status();
  const std::vector<explain::Mapping> mappings = explain::ParseMappings(*smaps);
  const absl::Status status = ReadBlocks(mappings);
  return status.ok() ? ReadNames(mappings) : status;
}

// The table of blocks is read before the pages and the recording: a block that is freed meanwhile
// is then one that has no name, and never one that is counted for another.
absl::Status Reader::ReadBlocks(const std::vector<explain::Mapping>& mappings) {
  const auto map = explain::FindProcessMap(process_.memory(), mappings);
  auto blocks = map.ok() ? explain::FindInPlaceBlocks(process_.memory(), mappings)
                         : absl::StatusOr<explain::InPlaceBlocks>(map.status());
  auto heap = explain::FindHeapBlocks(process_, mappings);
  if (!heap.ok()) return heap.status();  // also says that its memory may not be read
  if (!blocks.ok()) return blocks.status();
  if (!heap->not_known.empty()) {
    return absl::FailedPreconditionError(heap->not_known + ", so its pages are not known");
  }
  in_place_ = *std::move(blocks);
  areas_ = std::move(heap->areas);
  explain::AddPythonArenas(process_, mappings, &areas_);
  return absl::OkStatus();
}

absl::Status Reader::ReadNames(const std::vector<explain::Mapping>& mappings) {
  const auto map = explain::FindProcessMap(process_.memory(), mappings);
  if (!map.ok()) return map.status();
  const auto entries = explain::ReadEntries(process_.memory(), *map);
  if (!entries.ok()) return entries.status();
  const auto read = [this](uint64_t address, void* to, size_t size_bytes) {
    return process_.memory().ReadAt(address, to, size_bytes);
  };
  for (size_t i = 0; i < in_place_.blocks.size(); ++i) {
    names_.Add(read, *entries, in_place_.blocks[i].entry, i);
  }
  return absl::OkStatus();
}

std::optional<recording::Held> Reader::HeldBy(const recording::Process& process, uint32_t number) {
  const size_t block = names_.Find(process, number);
  if (block == explain::RecordedBlocks::kNone) return std::nullopt;
  const Area* const page = explain::PageOf(areas_, in_place_.blocks[block].address);
  if (page == nullptr) return std::nullopt;
  ++known_blocks_;
  recording::Held held;
  held.block_bytes = static_cast<double>(page->block_bytes);
  held.held_bytes = static_cast<double>(page->listed_bytes - page->live_bytes) /
                    static_cast<double>(page->live_blocks);
  held.one_in = in_place_.one_in;
  return held;
}

heap::Pages Reader::CountPages() const {
  heap::Pages pages;
  for (const Area& area : areas_) {
    if (area.use != Use::kBlocks) continue;
    pages.free_bytes += static_cast<double>(area.listed_bytes - area.live_bytes);
    pages.live_blocks += static_cast<double>(area.live_blocks);
    pages.live_bytes += static_cast<double>(area.live_bytes);
  }
  pages.in_place_blocks = static_cast<double>(known_blocks_);
  pages.unknown_blocks = static_cast<double>(in_place_.blocks.size() - known_blocks_);
  pages.without_room = static_cast<double>(in_place_.without_room);
  pages.one_in = in_place_.one_in;
  return pages;
}

bool Reader::HasPython() const {
  return std::any_of(areas_.begin(), areas_.end(),
                     [](const Area& area) { return area.use == Use::kPython; });
}

absl::StatusOr<heap::HeapProfile> Reader::Profile(const std::string& debug_dir) {
  recording::RecordingOptions options;
  options.debug_dir = debug_dir;
  options.find_held = [this](const recording::Process& process, uint32_t number) {
    return HeldBy(process, number);
  };
  known_blocks_ = 0;
  auto profile = explain::ReadOwnRecording(process_, areas_, options);
  if (!profile.ok()) return profile;
  profile->pages = CountPages();
  if (HasPython()) heap::WeighArenas(&*profile);
  return profile;
}

}  // namespace

absl::StatusOr<heap::HeapProfile> ReadHeldPages(const std::string& process,
                                                const std::string& debug_dir) {
  uint32_t pid = 0;
  const absl::Status is_id = options::ParsePid(process, &pid);
  if (!is_id.ok()) return is_id;
  Reader reader(pid);
  const absl::Status is_read = reader.Read();
  auto profile =
      is_read.ok() ? reader.Profile(debug_dir) : absl::StatusOr<heap::HeapProfile>(is_read);
  if (profile.ok()) return profile;
  return absl::Status(profile.status().code(),
                      "process " + process + ": " + std::string(profile.status().message()));
}

}  // namespace allomon::pages
