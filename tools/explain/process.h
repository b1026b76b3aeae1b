// A process, read through its files in /proc.  It is not stopped: other threads run meanwhile, and
// it may end.
#ifndef ALLOMON_TOOLS_EXPLAIN_PROCESS_H_
#define ALLOMON_TOOLS_EXPLAIN_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::explain {

// An open file of /proc.  Reading one that could not be opened fails with the error of open(2).
class ProcessFile {
 public:
  explicit ProcessFile(const std::string& path);
  ~ProcessFile();
  ProcessFile(ProcessFile&& other) noexcept;
  ProcessFile(const ProcessFile&) = delete;
  ProcessFile& operator=(const ProcessFile&) = delete;

  int error() const { return error_; }  // errno of open(2); 0: it is open
  // False unless all bytes can be read.
  bool ReadAt(uint64_t offset, void* to, size_t size_bytes) const;
  // Returns how many bytes could be read, from the first one on.
  size_t ReadSome(uint64_t offset, void* to, size_t size_bytes) const;
  // All of it, at most kMostBytes.
  absl::StatusOr<std::string> ReadAll() const;

  static constexpr size_t kMostBytes = size_t{256} << 20;

 private:
  int fd_ = -1;
  int error_ = 0;
  std::string path_;
};

class Process {
 public:
  explicit Process(uint32_t pid);

  uint32_t pid() const { return pid_; }
  // Its id as it knows it itself, in a container of its own.
  uint32_t OwnId() const;
  // Empty if the process has ended.
  const std::string& name() const { return name_; }
  // Whether the first thread has ended (pthread_exit) and others have not: /proc/PID shows no
  // memory then, and is read by another thread's id.
  bool has_lost_first_thread() const { return memory_folder_ != folder_; }

  const ProcessFile& memory() const { return memory_; }
  // The lines of its mappings, without their memory.  Cost: by the number of mappings.
  absl::StatusOr<std::string> Maps() const;
  // Opened anew, since the kernel makes its text while it is read.  Cost: by the resident pages.
  absl::StatusOr<std::string> Smaps() const;
  absl::StatusOr<std::string> Rollup() const;
  // The stack pointers of threads that are in a system call; those of others are not known.
  std::vector<uint64_t> StackPointers() const;
  size_t threads() const;
  // The limit of its first stack, which is also the size of a thread's unless the program says
  // another; 0: none, or not known.
  uint64_t StackBytes() const;
  // 0: not known.
  int64_t StartUnixNanos() const;
  // The kernel's own count, which may be some hundred pages late; 0: not known.
  uint64_t TotalResidentBytes() const;
  // Returns the resident bytes of [begin, end), two multiples of a page; 0 if the page table may
  // not be read.  Cost: 8 bytes are read for each page, or none if the last call was nearby.
  uint64_t ResidentBytes(uint64_t begin, uint64_t end) const;
  const ProcessFile& page_table() const { return page_table_; }
  // Whether the page of this number was written or read: it is resident, or swapped.  Other pages
  // are zero or as in their file.
  bool HasContent(uint64_t page) const;
  bool IsResident(uint64_t page) const;
  // The same as HasContent() of the page at the address, for addresses that are far apart; true if
  // the page table may not be read.  Cost: 8 bytes are read.
  bool HasContentAt(uint64_t address) const;
  uint64_t page_bytes() const { return page_bytes_; }

 private:
  uint64_t PageEntry(uint64_t page) const;

  static constexpr uint64_t kWindowPages = 8192;

  const uint32_t pid_;
  const std::string folder_;
  const std::string memory_folder_;
  const uint64_t page_bytes_;
  const ProcessFile memory_;
  const ProcessFile page_table_;
  std::string name_;
  mutable std::vector<uint64_t> window_;  // entries of the page table from window_begin_ on
  mutable uint64_t window_begin_ = UINT64_MAX;
};

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_PROCESS_H_
