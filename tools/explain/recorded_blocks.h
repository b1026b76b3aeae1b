// The way from a sampled block of a process to its live block in the recording.
#ifndef ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_
#define ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/process.h"
#include "tracker/formats/process_map.h"
#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_process.h"

namespace allomon::explain {

// The file of a recording, read where the process has it mapped.  Refers to the process.
class MappedRecording final : public recording::RecordingBytes {
 public:
  MappedRecording(const Process& process, const Area& area)
      : process_(process), begin_(area.begin), size_bytes_(area.end - area.begin) {}

  uint64_t size() const override { return size_bytes_; }
  bool Read(uint64_t offset, void* to, size_t count) const override;

 private:
  const Process& process_;
  const uint64_t begin_;
  const uint64_t size_bytes_;
};

// Sampled blocks by the numbers that the recording has for them.
class RecordedBlocks {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // Adds what the block's entries say: `block` is any number of the caller's.
  void Add(const ReadMemory& read, const process_map::Entries& entries, uint32_t first_entry,
           size_t block);
  // Returns the block that was added and is the recording's live block of that number, or kNone.
  size_t Find(const recording::Process& process, uint32_t number) const;

 private:
  struct Named {
    uint32_t row;
    uint32_t thread;
    size_t block;
  };
  std::unordered_multimap<uint32_t, Named> by_number_;
};

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_RECORDED_BLOCKS_H_
