#include "tools/explain/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "tools/process/places.h"

namespace allomon::explain {
namespace {

absl::Status Failure(const std::string& path, int error) {
  return absl::InternalError(path + " cannot be read (" + strerror(error) + ")");
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  while (const dirent* const entry = open ? readdir(open.get()) : nullptr) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace

ProcessFile::ProcessFile(const std::string& path)
    : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), error_(fd_ < 0 ? errno : 0), path_(path) {}

ProcessFile::ProcessFile(ProcessFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), error_(other.error_), path_(std::move(other.path_)) {}

ProcessFile::~ProcessFile() {
  if (fd_ >= 0) close(fd_);
}

bool ProcessFile::ReadAt(uint64_t offset, void* to, size_t size_bytes) const {
  return ReadSome(offset, to, size_bytes) == size_bytes;
}

size_t ProcessFile::ReadSome(uint64_t offset, void* to, size_t size_bytes) const {
  if (fd_ < 0 || offset > INT64_MAX) return 0;
  size_t read_bytes = 0;
  while (read_bytes < size_bytes) {
    const ssize_t done = pread(fd_, static_cast<char*>(to) + read_bytes, size_bytes - read_bytes,
                               static_cast<off_t>(offset + read_bytes));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    read_bytes += static_cast<size_t>(done);
  }
  return read_bytes;
}

absl::StatusOr<std::string> ProcessFile::ReadAll() const {
  if (fd_ < 0) return Failure(path_, error_);
  std::string text;
  constexpr size_t kStepBytes = size_t{256} << 10;
  for (;;) {
    const size_t before = text.size();
    if (before > kMostBytes) return Failure(path_, EFBIG);
    text.resize(before + kStepBytes);
    const ssize_t done = read(fd_, text.data() + before, kStepBytes);
    text.resize(before + static_cast<size_t>(done > 0 ? done : 0));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failure(path_, errno);
    if (done == 0) return text;
  }
}

Process::Process(uint32_t pid)
    : pid_(pid),
      folder_("/proc/" + std::to_string(pid)),
      memory_folder_(process::MemoryFolderOf(pid)),
      page_bytes_(static_cast<uint64_t>(sysconf(_SC_PAGESIZE))),
      memory_(memory_folder_ + "/mem"),
      page_table_(memory_folder_ + "/pagemap") {
  const auto name = ProcessFile(folder_ + "/comm").ReadAll();
  if (name.ok()) name_ = name->substr(0, name->find('\n'));
}

absl::StatusOr<std::string> Process::Maps() const {
  return ProcessFile(memory_folder_ + "/maps").ReadAll();
}

absl::StatusOr<std::string> Process::Smaps() const {
  return ProcessFile(memory_folder_ + "/smaps").ReadAll();
}

absl::StatusOr<std::string> Process::Rollup() const {
  return ProcessFile(memory_folder_ + "/smaps_rollup").ReadAll();
}

// "7 0x0 0x1 ... 0x6 STACK_POINTER PROGRAM_COUNTER", "-1 STACK_POINTER ...", or "running".
std::vector<uint64_t> Process::StackPointers() const {
  std::vector<uint64_t> found;
  for (const std::string& thread : NamesIn(folder_ + "/task")) {
    const auto text = ProcessFile(folder_ + "/task/" + thread + "/syscall").ReadAll();
    if (!text.ok()) continue;
    const size_t last = text->rfind(' ');
    const size_t before =
        last == std::string::npos || last == 0 ? last : text->rfind(' ', last - 1);
    if (before == std::string::npos) continue;
    const uint64_t pointer = strtoull(text->c_str() + before, nullptr, 16);
    if (pointer != 0) found.push_back(pointer);
  }
  return found;
}

// Field 22 of /proc/PID/stat (proc(5)), in ticks since the machine's start.  The name, which is
// field 2, may contain blanks and parentheses.
int64_t Process::StartUnixNanos() const {
  const auto text = ProcessFile(folder_ + "/stat").ReadAll();
  size_t at = text.ok() ? text->rfind(')') : std::string::npos;
  constexpr int kFieldsAfterName = 20;
  for (int field = 0; field < kFieldsAfterName && at != std::string::npos; ++field) {
    at = text->find(' ', at + 1);
  }
  if (at == std::string::npos) return 0;
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  const int64_t ticks = strtoll(text->c_str() + at, nullptr, 10);
  const auto nanos_of = [](clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return now.tv_sec * kNanosPerSecond + now.tv_nsec;
  };
  const int64_t since_boot = ticks * (kNanosPerSecond / sysconf(_SC_CLK_TCK));
  return nanos_of(CLOCK_REALTIME) - nanos_of(CLOCK_BOOTTIME) + since_boot;
}

uint32_t Process::OwnId() const { return process::IdInside(pid_); }

uint64_t Process::StackBytes() const {
  const auto text = ProcessFile(folder_ + "/limits").ReadAll();
  constexpr char kLine[] = "Max stack size";
  const size_t at = text.ok() ? text->find(kLine) : std::string::npos;
  return at == std::string::npos ? 0 : strtoull(text->c_str() + at + strlen(kLine), nullptr, 10);
}

size_t Process::threads() const { return NamesIn(folder_ + "/task").size(); }

// The page's entry in /proc/PID/pagemap (proc(5)): bit 63 is set if it is present, bit 62 if it is
// swapped.
uint64_t Process::PageEntry(uint64_t page) const {
  if (page - window_begin_ >= window_.size()) {
    window_begin_ = page / kWindowPages * kWindowPages;
    window_.assign(kWindowPages, 0);
    // The address space ends inside of its last window, where the stack of the first thread lies if
    // addresses are not random.
    page_table_.ReadSome(window_begin_ * 8, window_.data(), kWindowPages * 8);
  }
  return window_[page - window_begin_];
}

bool Process::HasContent(uint64_t page) const { return PageEntry(page) >> 62 != 0; }

bool Process::HasContentAt(uint64_t address) const {
  uint64_t entry = 0;
  const bool is_read = page_table_.ReadAt(address / page_bytes_ * 8, &entry, sizeof(entry));
  return !is_read || entry >> 62 != 0;
}

bool Process::IsResident(uint64_t page) const { return PageEntry(page) >> 63 != 0; }

// The second number of /proc/PID/statm (proc(5)), in pages.
uint64_t Process::TotalResidentBytes() const {
  const auto text = ProcessFile(memory_folder_ + "/statm").ReadAll();
  const size_t at = text.ok() ? text->find(' ') : std::string::npos;
  return at == std::string::npos ? 0 : strtoull(text->c_str() + at, nullptr, 10) * page_bytes_;
}

uint64_t Process::ResidentBytes(uint64_t begin, uint64_t end) const {
  uint64_t pages = 0;
  for (uint64_t page = begin / page_bytes_; page < end / page_bytes_; ++page) {
    if (IsResident(page)) ++pages;
  }
  return pages * page_bytes_;
}

}  // namespace allomon::explain
