#include "tracker/recording/segment_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/recording/bus_errors.h"

namespace allomon::recording {
namespace {

// Header, process and texts: what a program takes that ends before its first sample.  The kernel
// clears what is allocated, so the file is doubled, up to these steps.
constexpr uint64_t kFirstBytes = 3 * kSegmentBytes;
constexpr uint64_t kLeastGrowthBytes = 8 * kSegmentBytes;
constexpr uint64_t kMostGrowthBytes = uint64_t{4} << 20;
// Hosts close and use low descriptors as if they were theirs.
constexpr int kHighDescriptor = 900;
// Between two requests to a disk that was full.
constexpr uint32_t kRefusalsBeforeRetry = 1024;

// open() and close() are cancellation points, and a thread must not end inside malloc.
int OpenFile(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, 0600));
}
void CloseFile(int fd) { syscall(SYS_close, fd); }

int MoveUp(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  CloseFile(fd);
  return high;
}

bool IsSealed(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

uint64_t WholeSegments(uint64_t bytes) { return bytes / kSegmentBytes * kSegmentBytes; }

bool IsOurs(const FileHeader& header) {
  return memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 && header.version == kLayoutVersion &&
         header.segment_bytes == kSegmentBytes && header.limit_bytes >= kLeastLimitBytes &&
         header.limit_bytes <= kMostLimitBytes;
}

void Begin(FileHeader* header, uint64_t limit_bytes) {
  header->version = kLayoutVersion;
  header->segment_bytes = kSegmentBytes;
  header->limit_bytes = limit_bytes;
  header->segments_used = 1;
  // Last, and behind the rest: a reader may map the file at once.
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(header->magic, kMagic, sizeof(kMagic));
}

// The kernel would send SIGXFSZ.
bool LimitAllows(uint64_t end_bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && end_bytes <= limit.rlim_cur;
}

bool Allocate(int fd, uint64_t begin, uint64_t end) {
  return LimitAllows(end) && posix_fallocate(fd, static_cast<off_t>(begin),
                                             static_cast<off_t>(end - begin)) == 0;
}

}  // namespace

const char* const kMemoryFileFull = "the memory file is full";
const char* const kNoMemoryFile = "nobody holds the memory file any more";

const char* SegmentFile::Open(const FilePath& path, uint64_t limit_bytes) {
  ALLOMON_DCHECK("inv.recording.segment", base_ == nullptr);
  const ErrnoKeeper keeper;
  path_ = path;
  is_lost_ = false;
  const int fd = OpenFile(path.text, O_RDWR);
  if (fd >= 0 && IsSealed(fd)) {
    const char* const error = Join(fd);
    CloseFile(fd);
    return error;
  }
  if (fd >= 0) CloseFile(fd);
  if (fd < 0 && strncmp(path.text, "/proc/", 6) == 0) return kNoMemoryFile;
  return Create(WholeSegments(limit_bytes));
}

const char* SegmentFile::Join(int fd) {
  FileHeader found = {};
  struct stat status;
  if (pread(fd, &found, sizeof(found), 0) != sizeof(found) || !IsOurs(found)) {
    return "it is a sealed memory file without a recording of this version; name another file";
  }
  limit_bytes_ = WholeSegments(found.limit_bytes);
  if (fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) < limit_bytes_) {
    return "the memory file is shorter than its header says";
  }
  is_named_ = false;
  return Map(fd);
}

const char* SegmentFile::Map(int fd) {
  void* const pages = mmap(nullptr, limit_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED) {
    return "there are no addresses to map it; set a smaller ALLOMON_RECORD_LIMIT";
  }
  base_ = static_cast<char*>(pages);
  return nullptr;
}

const char* SegmentFile::Create(uint64_t limit_bytes) {
  if (limit_bytes < kLeastLimitBytes) return "the limit is less than 1 MiB";
  struct stat status;
  // A directory, a device or a pipe has the name.
  if (lstat(path_.text, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return "it is no regular file; name another";
  }
  unlink(path_.text);
  const int fd = OpenFile(path_.text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (fd < 0) return "it cannot be created; name a file in a directory that may be written to";
  const char* const error = MapNew(MoveUp(fd), limit_bytes);
  if (error != nullptr) unlink(path_.text);
  return error;
}

const char* SegmentFile::MapNew(int fd, uint64_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  struct stat status;
  const char* error = nullptr;
  if (fstat(fd, &status) != 0 || !Allocate(fd, 0, kFirstBytes)) {
    error = "there is no room on its disk, or `ulimit -f` is too small";
  } else {
    error = Map(fd);
  }
  if (error != nullptr) {
    CloseFile(fd);
    return error;
  }
  is_named_ = true;
  fd_ = fd;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  allocated_bytes_ = kFirstBytes;
  WatchBusErrors(base_, limit_bytes_);
  Begin(&header(), limit_bytes_);
  return nullptr;
}

void SegmentFile::Close() {
  if (base_ == nullptr) return;
  const ErrnoKeeper keeper;
  if (is_named_) UnwatchBusErrors(base_);
  munmap(base_, limit_bytes_);
  base_ = nullptr;
  if (is_named_ && HasDescriptor()) CloseFile(fd_);
  fd_ = -1;
}

uint32_t SegmentFile::segments_used() const {
  const uint64_t used = __atomic_load_n(&header().segments_used, __ATOMIC_RELAXED);
  const uint64_t there = is_named_ ? allocated_bytes_ / kSegmentBytes : segment_count();
  return static_cast<uint32_t>(std::min(used, there));
}

uint32_t SegmentFile::Take() {
  uint64_t* const used = &header().segments_used;
  uint64_t segment = __atomic_load_n(used, __ATOMIC_RELAXED);
  do {
    if (segment == 0 || segment >= segment_count() || !Grow((segment + 1) * kSegmentBytes)) {
      __atomic_fetch_add(&header().segments_lost, 1, __ATOMIC_RELAXED);
      return 0;
    }
  } while (!__atomic_compare_exchange_n(used, &segment, segment + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return static_cast<uint32_t>(segment);
}

bool SegmentFile::Grow(uint64_t end_bytes) {
  if (!is_named_ || end_bytes <= allocated_bytes_) return true;
  if (refusals_ != 0 && ++refusals_ % kRefusalsBeforeRetry != 0) return false;
  const ErrnoKeeper keeper;
  const uint64_t growth = std::clamp(allocated_bytes_, kLeastGrowthBytes, kMostGrowthBytes);
  const uint64_t wished = allocated_bytes_ + growth;
  const bool grown = FindDescriptor() &&
                     (GrowTo(wished < limit_bytes_ ? wished : limit_bytes_) || GrowTo(end_bytes));
  refusals_ = grown ? 0 : 1;
  return grown;
}

bool SegmentFile::GrowTo(uint64_t end_bytes) {
  if (!Allocate(fd_, allocated_bytes_, end_bytes)) return false;
  allocated_bytes_ = end_bytes;
  return true;
}

bool SegmentFile::HasDescriptor() const {
  struct stat status;
  return fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

// The host may have closed all descriptors, or have a file of its own at ours.
bool SegmentFile::FindDescriptor() {
  if (HasDescriptor()) return true;
  fd_ = OpenFile(path_.text, O_RDWR | O_NOFOLLOW);
  if (fd_ < 0) return false;
  fd_ = MoveUp(fd_);
  if (HasDescriptor()) return true;
  CloseFile(fd_);
  fd_ = -1;
  return false;
}

bool SegmentFile::CheckNamed() {
  if (is_lost_) return false;
  const ErrnoKeeper keeper;
  struct stat status;
  const bool is_known =
      fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (!is_known && (!FindDescriptor() || fstat(fd_, &status) != 0)) {
    Forget();
  } else if (static_cast<uint64_t>(status.st_size) < allocated_bytes_ || HadBusError(base_)) {
    Forget();
  }
  return !is_lost_;
}

// In one step, so that no thread finds a page that is not there.
void SegmentFile::Forget() {
  is_lost_ = true;
  mmap(base_, limit_bytes_, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace allomon::recording
