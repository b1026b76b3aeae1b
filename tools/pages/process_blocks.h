// A process that runs and records, and the way from its sampled blocks to its recording.
#ifndef ALLOMON_TOOLS_PAGES_PROCESS_BLOCKS_H_
#define ALLOMON_TOOLS_PAGES_PROCESS_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/symbols/name_sources.h"
#include "tracker/formats/process_map.h"

namespace allomon::pages {

// A block that is freed while it is read must be one without a name, and never one that is taken
// for another.  So the caller reads its tables of sampled blocks between Open() and ReadHeap(), and
// the recording last.
class ProcessBlocks {
 public:
  explicit ProcessBlocks(uint32_t pid) : process_(pid) {}

  // Finds Allomon in the process.  Fails with one line, which names the remedy.
  absl::Status Open();
  absl::Status ReadHeap();

  // A sampled block that is live.
  struct Place {
    uint64_t begin;
    uint64_t room_bytes;  // the block is no larger
  };
  // Lists and names all sampled blocks, by their places in the list.
  std::vector<Place> ListSampled();

  // Names a sampled block: `block` is any number of the caller's.
  void Name(uint32_t first_entry, size_t block);
  // Returns the block that is the recording's live block of that number, or
  // explain::RecordedBlocks::kNone.
  size_t Find(const recording::Process& process, uint32_t number) {
    return names_.Find(process, number);
  }
  absl::StatusOr<heap::HeapProfile> Profile(const recording::RecordingOptions& options) const {
    return explain::ReadOwnRecording(process_, heap_.areas, options);
  }

  const explain::Process& process() const { return process_; }
  const std::vector<explain::Mapping>& mappings() const { return mappings_; }
  const process_map::ProcessMap& map() const { return map_; }
  explain::HeapBlocks& heap() { return heap_; }
  bool ReadMemory(uint64_t address, void* to, size_t size_bytes) const {
    return process_.memory().ReadAt(address, to, size_bytes);
  }

 private:
  const explain::Process process_;
  std::vector<explain::Mapping> mappings_;
  process_map::ProcessMap map_ = {};
  process_map::Entries entries_ = {};
  explain::HeapBlocks heap_;
  explain::RecordedBlocks names_;
};

// Calls read(pid) with the number that `process` is, and puts that number before its errors.
absl::StatusOr<heap::HeapProfile> ReadProcess(
    const std::string& process,
    const std::function<absl::StatusOr<heap::HeapProfile>(uint32_t pid)>& read);

// The same with a reader that is made of the id, reads the process, and then makes a profile.
template <typename Reader>
absl::StatusOr<heap::HeapProfile> ReadProcess(const std::string& process,
                                              const NameSources& name_sources) {
  return ReadProcess(process, [&name_sources](uint32_t pid) -> absl::StatusOr<heap::HeapProfile> {
    Reader reader(pid);
    const absl::Status status = reader.Read();
    if (!status.ok()) return status;
    return reader.Profile(name_sources);
  });
}

}  // namespace allomon::pages

#endif  // ALLOMON_TOOLS_PAGES_PROCESS_BLOCKS_H_
