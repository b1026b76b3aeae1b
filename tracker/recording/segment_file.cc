#include "tracker/recording/segment_file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/clock.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/own_mappings.h"
#include "tracker/base/page_size.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/base/waiting.h"
#include "tracker/recording/bus_errors.h"
#include "tracker/recording/file_owner.h"

namespace allomon::recording {
namespace {

namespace sys = internal::sys;

// The first segments hold header, process and texts: all that a program needs which ends before its
// first sample.  The kernel clears allocated pages, so growth doubles the file but is limited to
// these steps; one MiB takes a tmpfs a quarter of a millisecond.
constexpr uint64_t kFirstBytes = 3 * kSegmentBytes;
constexpr uint64_t kLeastGrowthBytes = 8 * kSegmentBytes;
constexpr uint64_t kMostGrowthBytes = uint64_t{1} << 20;
// Our descriptor is at least this high, because hosts close and reuse low descriptors that are not
// theirs.
constexpr int kHighDescriptor = 900;
// Refused requests before a full disk is tried again.
constexpr uint32_t kRefusalsBeforeRetry = 1024;

constexpr int kOpenFlags = O_RDWR | O_CLOEXEC | O_NOCTTY;

int MoveUp(int fd) {
  const int high = sys::Fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  sys::Close(fd);
  return high;
}

bool IsSealed(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = sys::Fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

// It has no name.
bool IsMemoryFile(const struct stat& status, const FileId& wanted) {
  const bool is_wanted =
      wanted.inode == 0 || (status.st_dev == wanted.device && status.st_ino == wanted.inode);
  return S_ISREG(status.st_mode) && status.st_nlink == 0 && is_wanted;
}

uint64_t WholeSegments(uint64_t bytes) { return bytes / kSegmentBytes * kSegmentBytes; }

bool IsOurs(const FileHeader& header) {
  return memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 && header.version == kLayoutVersion &&
         header.segment_bytes == kSegmentBytes && header.limit_bytes >= kLeastLimitBytes &&
         header.limit_bytes <= kMostLimitBytes;
}

// Whether the file that has the name, if any, may be replaced.  A link such as /dev/stdout leads to
// a file that others use.
bool MayBeReplaced(const FilePath& path) {
  struct stat status;
  if (sys::Lstat(path.text, &status) != 0 || S_ISREG(status.st_mode)) return true;
  if (!S_ISLNK(status.st_mode)) return false;
  const auto is_under = [&path](const char* folder) {
    return strncmp(path.text, folder, strlen(folder)) == 0;
  };
  if (is_under("/proc/") || (is_under("/dev/") && !is_under("/dev/shm/"))) return false;
  return sys::FstatAt(AT_FDCWD, path.text, &status, 0) != 0 || S_ISREG(status.st_mode);
}

void Begin(const Written<FileHeader>& file, uint64_t limit_bytes) {
  FileHeader header = {};
  header.version = kLayoutVersion;
  header.segment_bytes = kSegmentBytes;
  header.limit_bytes = limit_bytes;
  header.segments_used = 1;
  file.Write(header);
  // The magic is written last: a reader may map the file at once.
  for (size_t i = 0; i < sizeof(kMagic); ++i) file.At(&FileHeader::magic, i).Publish(kMagic[i]);
}

// The kernel would send SIGXFSZ.
bool LimitAllows(uint64_t end_bytes) {
  rlimit limit = {};
  return sys::Prlimit(RLIMIT_FSIZE, nullptr, &limit) == 0 && end_bytes <= limit.rlim_cur;
}

// Writes zeros on a file system that cannot allocate pages in advance.
bool WriteZeros(int fd, uint64_t begin, uint64_t end) {
  static const char zeros[4096] = {};
  for (uint64_t at = begin; at < end;) {
    const ssize_t written = sys::Pwrite(fd, zeros, std::min<uint64_t>(sizeof(zeros), end - at), at);
    if (written <= 0) return false;
    at += static_cast<uint64_t>(written);
  }
  return true;
}

bool AllocateIn(int fd, uint64_t begin, uint64_t end) {
  if (!LimitAllows(end)) return false;
  // A tmpfs undoes an allocation that a signal interrupts.  A retry may get through.
  for (int tries = 0;; ++tries) {
    const int error = sys::Fallocate(fd, begin, end - begin);
    if (error == -EOPNOTSUPP) return WriteZeros(fd, begin, end);
    if (error != -EINTR || tries == 100) return error == 0;
  }
}

// The first segments: those of the file's header and of the process, of which one page is used, and
// one for what comes first.  Pages that nobody touches are promised by no disk.
bool AllocateFirst(int fd) {
  static_assert(sizeof(FileHeader) <= internal::kLeastPageBytes &&
                sizeof(SegmentHeader) + sizeof(ProcessRecord) <= internal::kLeastPageBytes);
  const uint64_t page_bytes = internal::PageBytes();
  return AllocateIn(fd, 2 * kSegmentBytes, kFirstBytes) && AllocateIn(fd, 0, page_bytes) &&
         AllocateIn(fd, kSegmentBytes, kSegmentBytes + page_bytes);
}

}  // namespace

const std::atomic<bool> SegmentFile::kNoHarm{false};

const char* const kMemoryFileFull = "the memory file is full";
const char* const kNameTaken = "another process writes a file of its name; name another";
const char* const kNoMemoryFile = "nobody holds the memory file any more";

const char* SegmentFile::Open(const FilePath& path, uint64_t limit_bytes,
                              const FileId& memory_file) {
  ALLOMON_DCHECK("inv.recording.segment", base_ == nullptr);
  path_ = path;
  fresh_path_.text[0] = '\0';
  is_lost_ = false;
  harm_ = &kNoHarm;
  for (std::atomic<bool>* flag : {&growth_is_near_, &is_growing_, &is_full_}) {
    flag->store(false, std::memory_order_relaxed);
  }
  refusals_ = 0;
  return IsOfDescriptor(path) ? OpenDescriptor(memory_file) : Create(WholeSegments(limit_bytes));
}

// The descriptor's number may be another process's file by now.  Opening a device can have effects,
// so the file is checked before it is opened, and again when it is open.
const char* SegmentFile::OpenDescriptor(const FileId& memory_file) {
  const char* const other =
      memory_file.inode != 0 ? kNoMemoryFile : "it is no memory file of a recording; name a file";
  struct stat status;
  if (sys::FstatAt(AT_FDCWD, path_.text, &status, 0) != 0) return kNoMemoryFile;
  if (!IsMemoryFile(status, memory_file)) return other;
  const int fd = sys::Open(path_.text, kOpenFlags);
  if (fd < 0) return kNoMemoryFile;
  const bool is_same = sys::Fstat(fd, &status) == 0 && IsMemoryFile(status, memory_file);
  const char* const error = is_same && IsSealed(fd) ? Join(fd) : other;
  sys::Close(fd);
  return error;
}

const char* SegmentFile::Join(int fd) {
  FileHeader found = {};
  struct stat status;
  if (sys::Pread(fd, &found, sizeof(found), 0) != sizeof(found) || !recording::IsOurs(found)) {
    return "it is a sealed memory file without a recording of this version; name another file";
  }
  limit_bytes_ = WholeSegments(found.limit_bytes);
  if (sys::Fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) < limit_bytes_) {
    return "the memory file is shorter than its header says";
  }
  is_named_ = false;
  next_ = 1;
  return Map(fd);
}

const char* SegmentFile::Map(int fd) {
  void* const pages = internal::MapLazyPages(nullptr, limit_bytes_, MAP_SHARED, fd);
  if (!sys::IsAddress(pages)) {
    return IsOfDescriptor(path_)
               ? "there are no addresses to map it; give allomon run a smaller --limit"
               : "there are no addresses to map it; set a smaller ALLOMON_RECORD_LIMIT";
  }
  ALLOMON_DCHECK("inv.recording.segment", segment_count() > 1 && limit_bytes_ % kSegmentBytes == 0);
  base_ = static_cast<char*>(pages);
  internal::NoteMapping(base_, limit_bytes_, internal::MappingUse::kRecording);
  return nullptr;
}

const char* SegmentFile::Create(uint64_t limit_bytes) {
  if (limit_bytes < kLeastLimitBytes) return "the limit is less than 1 MiB";
  if (!MayBeReplaced(path_)) return "it is no regular file; name another";
  const uint64_t nanos = internal::ClockNanos(CLOCK_REALTIME);
  if (!FreshPath(path_, static_cast<uint32_t>(sys::Gettid()), nanos, &fresh_path_)) {
    fresh_path_.text[0] = '\0';
    return "its path is too long";
  }
  const int fd = sys::Open(fresh_path_.text, kOpenFlags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) {
    fresh_path_.text[0] = '\0';
    return "it cannot be created; name a file in a directory that may be written to";
  }
  const char* const error = MapNew(MoveUp(fd), limit_bytes);
  if (error != nullptr) {
    sys::Unlink(fresh_path_.text);
    fresh_path_.text[0] = '\0';
  }
  return error;
}

const char* SegmentFile::MapNew(int fd, uint64_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  struct stat status;
  const char* error = nullptr;
  if (sys::Fstat(fd, &status) != 0 || !AllocateFirst(fd)) {
    error = "there is no room on its disk, or `ulimit -f` is too small";
  } else {
    error = Map(fd);
  }
  if (error != nullptr) {
    sys::Close(fd);
    return error;
  }
  is_named_ = true;
  fd_ = fd;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (sys::Lstat("/", &status) == 0) {
    root_device_ = status.st_dev;
    root_inode_ = status.st_ino;
  }
  next_ = 1;
  allocated_bytes_.store(kFirstBytes, std::memory_order_relaxed);
  harm_ = WatchBusErrors(base_, limit_bytes_);
  is_protected_.store(true, std::memory_order_relaxed);
  Begin(header(), limit_bytes_);
  HoldFile(fd);
  return nullptr;
}

// Returns 0 or a negative error number.  Two names are exchanged to see the replaced file: between
// a look at the name and a plain rename, another process could give its own file that name.
int SegmentFile::TakeName(uint32_t process_id) {
  const auto rename = [this](unsigned flags) {
    return static_cast<int>(
        sys::SystemCall(SYS_renameat2, AT_FDCWD, fresh_path_.text, AT_FDCWD, path_.text, flags));
  };
  int error = rename(RENAME_NOREPLACE);
  if (error == 0) return 0;
  if (error == -EEXIST && IsOfAnother(path_, process_id)) return error;
  if (error == -EEXIST) error = rename(RENAME_EXCHANGE);
  // Some file systems and kernels cannot do that.
  if (error != 0) return sys::Rename(fresh_path_.text, path_.text);
  if (IsOfAnother(fresh_path_, process_id) && rename(RENAME_EXCHANGE) == 0) return -EEXIST;
  sys::Unlink(fresh_path_.text);
  return 0;
}

const char* SegmentFile::Commit(uint32_t process_id) {
  if (!is_named_) return nullptr;
  const int error = TakeName(process_id);
  if (error == -EEXIST) return kNameTaken;
  if (error != 0) return "it cannot be created; name a file in a directory that may be written to";
  fresh_path_.text[0] = '\0';
  return nullptr;
}

void SegmentFile::Close() {
  if (base_ == nullptr) return;
  if (is_named_) UnwatchBusErrors(base_);
  if (is_named_ && fresh_path_.text[0] != '\0') sys::Unlink(fresh_path_.text);
  internal::ForgetLazyPages(base_, limit_bytes_);
  internal::ForgetMapping(base_);
  sys::Munmap(base_, limit_bytes_);
  base_ = nullptr;
  harm_ = &kNoHarm;
  struct stat status;
  if (is_named_ && IsOurs(fd_, &status)) sys::Close(fd_);
  fd_ = -1;
}

uint32_t SegmentFile::segments_used() const {
  if (is_named_) return next_;
  const uint64_t* const used = &reinterpret_cast<const FileHeader*>(base_)->segments_used;
  return static_cast<uint32_t>(
      std::min<uint64_t>(__atomic_load_n(used, __ATOMIC_RELAXED), segment_count()));
}

uint32_t SegmentFile::Take() { return is_named_ ? TakeNamed() : TakeShared(); }

// All processes that share the file take segments from the count in its header.  Whatever the count
// says, the segment returned lies in the file, and this process has not taken it before: otherwise
// two threads would write different records to the same place.
uint32_t SegmentFile::TakeShared() {
  uint64_t* const used = &reinterpret_cast<FileHeader*>(base_)->segments_used;
  uint64_t count = __atomic_load_n(used, __ATOMIC_RELAXED);
  uint64_t segment = 0;
  do {
    segment = std::max<uint64_t>(count, next_);
    if (segment >= segment_count()) return Refuse();
  } while (!__atomic_compare_exchange_n(used, &count, segment + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  next_ = static_cast<uint32_t>(segment) + 1;
  return next_ - 1;
}

uint32_t SegmentFile::TakeNamed() {
  needs_growth_ = false;
  if (next_ >= segment_count()) return Refuse();
  // Pairs with the release in Allocate(): the pages are there.
  const uint64_t allocated = allocated_bytes_.load(std::memory_order_acquire);
  const uint64_t end = (uint64_t{next_} + 1) * kSegmentBytes;
  if (end > allocated) {
    if (is_full_.load(std::memory_order_relaxed) && ++refusals_ % kRefusalsBeforeRetry != 0) {
      return Refuse();
    }
    needs_growth_ = true;
    return 0;
  }
  // Less than an eighth of the allocated pages is left: a thread grows the file before any thread
  // has to wait for it.
  if (end + allocated / 8 > allocated && allocated < limit_bytes_) {
    growth_is_near_.store(!is_full_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  ALLOMON_DCHECK_LE("inv.recording.growth", allocated, limit_bytes_);
  header()[&FileHeader::segments_used].Store(next_ + 1);
  return next_++;
}

uint32_t SegmentFile::Refuse() {
  header()[&FileHeader::segments_lost].Add(1);
  return 0;
}

void SegmentFile::GrowAhead() {
  // Acquire pairs with the release below, of the thread that grew it before.
  if (is_growing_.exchange(true, std::memory_order_acquire)) return;
  growth_is_near_.store(false, std::memory_order_relaxed);
  GrowOnce();
  is_growing_.store(false, std::memory_order_release);
}

// The caller tries to take a segment again, and calls again if other threads have taken the new
// ones.
void SegmentFile::Grow() {
  // Acquire as in GrowAhead(): the descriptor is as the thread before has left it.
  for (uint32_t look = 0; is_growing_.exchange(true, std::memory_order_acquire); ++look) {
    internal::PauseBetweenLooks(look);
    if (!is_growing_.load(std::memory_order_relaxed)) return;  // another thread has grown it
  }
  GrowOnce();
  is_growing_.store(false, std::memory_order_release);
}

// Called by the thread that has set is_growing_.
void SegmentFile::GrowOnce() {
  const uint64_t allocated = allocated_bytes_.load(std::memory_order_relaxed);
  const uint64_t growth = std::clamp(allocated, kLeastGrowthBytes, kMostGrowthBytes);
  ALLOMON_DCHECK("inv.recording.growth", is_growing_.load(std::memory_order_relaxed));
  const uint64_t wished = std::min(allocated + growth, limit_bytes_);
  struct stat status;
  const bool grown = (IsOurs(fd_, &status) || FindDescriptor(&status)) &&
                     (Allocate(wished) || Allocate(allocated + kSegmentBytes));
  is_full_.store(!grown, std::memory_order_relaxed);
}

bool SegmentFile::Allocate(uint64_t end_bytes) {
  const uint64_t begin = allocated_bytes_.load(std::memory_order_relaxed);
  ALLOMON_DCHECK_LE("inv.recording.growth", begin, end_bytes);
  if (end_bytes > limit_bytes_ || !AllocateIn(fd_, begin, end_bytes)) return false;
  // Pairs with the acquire in TakeNamed(): the pages are there.
  allocated_bytes_.store(end_bytes, std::memory_order_release);
  return true;
}

bool SegmentFile::IsOurs(const struct stat& status) const {
  return status.st_dev == device_ && status.st_ino == inode_;
}
bool SegmentFile::IsOurs(int fd, struct stat* status) const {
  return fd >= 0 && sys::Fstat(fd, status) == 0 && IsOurs(*status);
}
bool SegmentFile::IsAtPath(struct stat* status) const {
  return sys::Lstat(path_.text, status) == 0 && IsOurs(*status);
}

// Finds our file again if the host has closed its descriptor or opened another file under the same
// number.
bool SegmentFile::FindDescriptor(struct stat* status) {
  fd_ = sys::Open(path_.text, kOpenFlags | O_NOFOLLOW);
  if (fd_ < 0) return false;
  fd_ = MoveUp(fd_);
  if (IsOurs(fd_, status)) return true;
  sys::Close(fd_);
  fd_ = -1;
  return false;
}

// Whether the name of a file without a descriptor leads nowhere.  Another root directory than the
// file's tells nothing about it.
bool SegmentFile::IsGone(struct stat* status) const {
  return sys::Lstat(path_.text, status) == -ENOENT && sys::Lstat("/", status) == 0 &&
         status->st_dev == root_device_ && status->st_ino == root_inode_;
}

// Sizes are compared also where the file may be looked at but not opened.
bool SegmentFile::Check() {
  if (is_lost_) return false;
  if (!is_named_) return true;
  is_protected_.store(IsBusErrorHandlerInFront(), std::memory_order_relaxed);
  // A thread that grows the file uses the descriptor, and finds the same truncation.
  // Acquire as in GrowAhead().
  if (is_growing_.exchange(true, std::memory_order_acquire)) return !is_lost_;
  struct stat status;
  const bool is_seen = IsOurs(fd_, &status) || FindDescriptor(&status) || IsAtPath(&status);
  const uint64_t allocated = allocated_bytes_.load(std::memory_order_relaxed);
  ALLOMON_DCHECK("inv.recording.growth", is_growing_.load(std::memory_order_relaxed));
  if (IsHarmed() || (is_seen && static_cast<uint64_t>(status.st_size) < allocated)) {
    is_lost_ = true;
    Forget();
  } else if (!is_seen) {
    is_lost_ = IsGone(&status);
  }
  // Release as in GrowAhead().
  is_growing_.store(false, std::memory_order_release);
  return !is_lost_;
}

// One call replaces all pages, so that no thread finds an unmapped page.
void SegmentFile::Forget() {
  sys::Mmap(base_, limit_bytes_, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace allomon::recording
