// What a process records, and the way from a sampled block of it to its live block there.
#ifndef ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_
#define ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/process.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/recording/recording_profile.h"
#include "tracker/formats/process_map.h"
#include "tracker/formats/recording_process.h"

namespace allomon::explain {

// Reads where the process has the entries of its blocks.  Fails with one line if it has none.
absl::StatusOr<process_map::Entries> ReadEntries(const ProcessFile& memory,
                                                 const process_map::ProcessMap& map);

// Reads what the process records, where it has the file mapped: a memory file has no path.  Sets
// which process of the file is meant, and its end, in `options`.  Fails with one line if it records
// nothing.
absl::StatusOr<heap::HeapProfile> ReadOwnRecording(const Process& process,
                                                   const std::vector<Area>& areas,
                                                   recording::RecordingOptions options);

// Sampled blocks by the numbers that the recording has for them.
class RecordedBlocks {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // Adds what the block's entries say: `block` is any number of the caller's.
  void Add(const ReadMemory& read, const process_map::Entries& entries, uint32_t first_entry,
           size_t block);
  // Returns the block that was added and is the recording's live block of that number, or kNone.
  // Callers ask for one process, after all sampled blocks were added.
  size_t Find(const recording::Process& process, uint32_t number);

 private:
  struct Named {
    uint32_t serial;
    uint32_t row;
    uint32_t thread;
    size_t block;
  };
  static bool IsNamed(const recording::Process& process, uint32_t number, const Named& named);
  uint32_t SerialOf(const recording::Process& process) const;

  std::unordered_multimap<uint32_t, Named> by_number_;
  std::optional<uint32_t> serial_;  // of the recording that is asked for
};

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_
