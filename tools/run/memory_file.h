// The memory that a recording of `allomon run` lies in: a file without a name, which the recorded
// processes map, and which cannot be made smaller under them.
#ifndef ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
#define ALLOMON_TOOLS_RUN_MEMORY_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace allomon::run {

// Owns the descriptor and a mapping for reading.  Memory is taken by what processes write, page by
// page.
class MemoryFile {
 public:
  // A file of `limit_bytes`, a multiple of kSegmentBytes, that holds a FileHeader.
  static absl::StatusOr<std::unique_ptr<MemoryFile>> Create(uint64_t limit_bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // The name by which other processes of the same user open it, while this process has it open.
  std::string Path() const;

  // The segments in use, header included.  Processes may change them at any time.
  std::string_view Used() const;

  // Whether the process has it mapped.
  bool IsMappedBy(pid_t process) const;

 private:
  MemoryFile(int fd, const char* begin, uint64_t limit_bytes)
      : fd_(fd), begin_(begin), limit_bytes_(limit_bytes) {}

  const int fd_;
  const char* const begin_;
  const uint64_t limit_bytes_;
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_MEMORY_FILE_H_
