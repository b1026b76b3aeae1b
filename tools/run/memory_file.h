// The memory of an `allomon run` recording: a file without a name, which the recorded processes
// map.  It cannot be made smaller while they use it.
#ifndef ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
#define ALLOMON_TOOLS_RUN_MEMORY_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::run {

// Owns the descriptor.  The system allocates memory page by page, as processes write.
class MemoryFile {
 public:
  // Creates a file of `limit_bytes`, a multiple of kSegmentBytes, that contains a FileHeader.
  static absl::StatusOr<std::unique_ptr<MemoryFile>> Create(uint64_t limit_bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // The path by which other processes of the same user open the file, while this process has it
  // open.
  std::string Path() const;
  // "DEVICE:INODE", which tells the file from one of a later process that is given the same number.
  std::string Id() const;

  // The file's bytes, for readers.  Processes may change them at any time.
  recording::DescriptorBytes Bytes() const { return recording::DescriptorBytes(fd_); }

  // The number of segments that processes asked for after the file was full.
  uint64_t SegmentsLost() const;

  // Returns a copy of the segments in use, which is a complete recording.
  std::string Copy() const;

  // Maps the desk at which processes wait before they exit; nullptr if there is no address space.
  // It stays mapped.
  recording::ExitDesk* MapDesk() const;

  // True if the process has the file mapped.
  bool IsMappedBy(pid_t process) const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
