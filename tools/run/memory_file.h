// The memory that a recording of `allomon run` lies in: a file without a name, which the recorded
// processes map, and which cannot be made smaller under them.
#ifndef ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
#define ALLOMON_TOOLS_RUN_MEMORY_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tracker/formats/recording_bytes.h"

namespace allomon::run {

// Owns the descriptor.  Memory is taken by what processes write, page by page.
class MemoryFile {
 public:
  // A file of `limit_bytes`, a multiple of kSegmentBytes, that holds a FileHeader.
  static absl::StatusOr<std::unique_ptr<MemoryFile>> Create(uint64_t limit_bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // The name by which other processes of the same user open it, while this process has it open.
  std::string Path() const;
  // "DEVICE:INODE", by which they tell it from a file of a process that is given the number later.
  std::string Id() const;

  // For readers.  Processes may change them at any time.
  recording::DescriptorBytes Bytes() const { return recording::DescriptorBytes(fd_); }

  // How often there was no room.
  uint64_t SegmentsLost() const;

  // A copy of the segments in use: a file that is a recording by itself.
  std::string Copy() const;

  // Whether the process has it mapped.
  bool IsMappedBy(pid_t process) const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
