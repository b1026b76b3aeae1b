#include "tools/pages/held_pages.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/in_place_blocks.h"
#include "tools/explain/python_arenas.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/heap/held.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/pages/process_blocks.h"

namespace allomon::pages {
namespace {

using explain::Area;
using explain::Use;

class Reader {
 public:
  explicit Reader(uint32_t pid) : blocks_(pid) {}

  absl::Status Read();
  absl::StatusOr<heap::HeapProfile> Profile(const NameSources& name_sources);

 private:
  std::optional<recording::Held> HeldBy(const recording::Process& process, uint32_t number);
  heap::Pages CountPages() const;
  // Whether objects of Python lie in arenas.
  bool HasPython() const;

  ProcessBlocks blocks_;
  std::vector<Area> areas_;
  explain::InPlaceBlocks in_place_;
  uint64_t known_blocks_ = 0;  // that are in a page and in a row
};

absl::Status Reader::Read() {
  absl::Status status = blocks_.Open();
  if (!status.ok()) return status;
  auto in_place = explain::FindInPlaceBlocks(blocks_.process().memory(), blocks_.mappings());
  if (!in_place.ok()) return in_place.status();
  in_place_ = *std::move(in_place);
  status = blocks_.ReadHeap();
  if (!status.ok()) return status;
  if (!blocks_.heap().not_known.empty()) {
    return absl::FailedPreconditionError(blocks_.heap().not_known + ", so its pages are not known");
  }
  areas_ = blocks_.heap().areas;
  explain::AddPythonArenas(blocks_.process(), blocks_.mappings(), &areas_);
  for (size_t i = 0; i < in_place_.blocks.size(); ++i) blocks_.Name(in_place_.blocks[i].entry, i);
  return absl::OkStatus();
}

std::optional<recording::Held> Reader::HeldBy(const recording::Process& process, uint32_t number) {
  const size_t block = blocks_.Find(process, number);
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

absl::StatusOr<heap::HeapProfile> Reader::Profile(const NameSources& name_sources) {
  recording::RecordingOptions options;
  options.name_sources = name_sources;
  options.find_held = [this](const recording::Process& process, uint32_t number) {
    return HeldBy(process, number);
  };
  known_blocks_ = 0;
  auto profile = blocks_.Profile(options);
  if (!profile.ok()) return profile;
  profile->pages = CountPages();
  if (HasPython()) heap::WeighArenas(&*profile);
  return profile;
}

}  // namespace

absl::StatusOr<heap::HeapProfile> ReadHeldPages(const std::string& process,
                                                const NameSources& name_sources) {
  return ReadProcess<Reader>(process, name_sources);
}

}  // namespace allomon::pages
