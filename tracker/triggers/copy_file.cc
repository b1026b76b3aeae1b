#include "tracker/triggers/copy_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::triggers {
namespace {

namespace sys = internal::sys;

// Our descriptors are at least this high, because hosts close and reuse low descriptors that are
// not theirs.
constexpr int kHighDescriptor = 900;
constexpr uint32_t kMostAttempts = 1000;
constexpr uint64_t kMostUnsyncedBytes = uint64_t{1} << 20;

int OpenAt(int directory, const char* name, int flags) {
  return sys::OpenAt(directory, name, flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
}

int MoveUp(int fd) {
  const int high = sys::Fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  sys::Close(fd);
  return high;
}

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

int Lock(int fd) { return static_cast<int>(sys::SystemCall(SYS_flock, fd, LOCK_EX | LOCK_NB)); }

// For a longer file the kernel would send SIGXFSZ.
bool LimitAllows(uint64_t end_bytes) {
  rlimit limit = {};
  return sys::Prlimit(RLIMIT_FSIZE, nullptr, &limit) != 0 || end_bytes <= limit.rlim_cur;
}

}  // namespace

void CopyFile::SetPlace(std::string_view directory, std::string_view stem) {
  stem_.Clear().Add(stem);
  attempt_ = 1;
  for (Held& held : held_) Release(&held);
  if (directory == std::string_view(directory_.text(), directory_.length())) return;
  directory_.Clear().Add(directory);
  if (HasDirectory()) sys::Close(directory_fd_);
  directory_fd_ = -1;
}

// The host may have closed all descriptors, or opened another file under our number.
bool CopyFile::HasDirectory() const {
  struct stat status;
  return directory_fd_ >= 0 && sys::Fstat(directory_fd_, &status) == 0 &&
         status.st_dev == device_ && status.st_ino == inode_;
}

int CopyFile::OpenDirectory() {
  directory_fd_ = -1;
  const int fd = sys::Open(directory_.text(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -fd;
  directory_fd_ = MoveUp(fd);
  struct stat status;
  const int result = sys::Fstat(directory_fd_, &status);
  if (result != 0) return -result;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return 0;
}

bool CopyFile::IsOf(const Held& held, int fd) {
  struct stat status;
  return fd >= 0 && sys::Fstat(fd, &status) == 0 && status.st_dev == held.device &&
         status.st_ino == held.inode;
}

// A child closes its copy of the descriptor; its parent goes on holding the file.
void CopyFile::Release(Held* held) {
  if (IsOf(*held, held->fd)) sys::Close(held->fd);
  held->fd = -1;
}

CopyFile::Held* CopyFile::HeldOf(std::string_view kind) {
  Held* held = held_;
  while (held != held_ + kMostKinds - 1 && !held->kind.empty() && held->kind != kind) ++held;
  held->kind = kind;
  return held;
}

// Returns false if another process holds the file, or has removed it since it was opened.  A file
// system without locks lets every process hold it.
bool CopyFile::Hold(int fd, const char* name, Held* held) const {
  struct stat status;
  if (Lock(fd) == -EWOULDBLOCK ||
      sys::FstatAt(directory_fd_, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  held->device = status.st_dev;
  held->inode = status.st_ino;
  return IsOf(*held, fd);
}

bool CopyFile::IsHeld(const char* name, const Held& own) const {
  const int fd = OpenAt(directory_fd_, name, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return false;
  const bool is_own = IsOf(own, own.fd) && IsOf(own, fd);
  const bool is_held = !is_own && Lock(fd) == -EWOULDBLOCK;
  sys::Close(fd);
  return is_held;
}

// Removes a file left by a process that was killed, or another program's link.
bool CopyFile::RemoveUnheld(const char* name) const {
  const int fd = OpenAt(directory_fd_, name, O_RDONLY | O_NONBLOCK);
  Held found;
  const bool is_free = fd < 0 || Hold(fd, name, &found);
  if (is_free) sys::UnlinkAt(directory_fd_, name);
  if (fd >= 0) sys::Close(fd);
  return is_free;
}

// Returns EEXIST if another process writes a file of that name.
int CopyFile::CreateSaving() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL;
  if (!SetName(&saving_, "saving", 0)) return ENAMETOOLONG;
  int fd = OpenAt(directory_fd_, saving_.text(), kFlags);
  if (fd == -EEXIST && RemoveUnheld(saving_.text())) {
    fd = OpenAt(directory_fd_, saving_.text(), kFlags);
  }
  if (fd < 0) return -fd;
  if (!Hold(fd, saving_.text(), &written_)) {
    sys::Close(fd);
    return EEXIST;
  }
  written_.fd = MoveUp(fd);
  return 0;
}

int CopyFile::Create() {
  int error = CreateSaving();
  while (error == EEXIST && attempt_ < kMostAttempts) {
    ++attempt_;
    error = CreateSaving();
  }
  return error;
}

int CopyFile::Begin(uint64_t end_bytes, Pages pages) {
  pages_ = pages;
  unsynced_bytes_ = 0;
  if (!directory_.fits() || !stem_.fits()) return ENAMETOOLONG;
  if (!LimitAllows(end_bytes)) return EFBIG;
  const bool was_open = HasDirectory();
  int error = was_open ? 0 : OpenDirectory();
  if (error == 0) error = Create();
  if (error != ENOENT || !was_open) return error;
  // The directory was removed; a new one may have its name.
  sys::Close(directory_fd_);
  error = OpenDirectory();
  return error == 0 ? Create() : error;
}

int CopyFile::Write(uint64_t offset, const char* bytes, uint64_t size) {
  if (!LimitAllows(offset + size)) return EFBIG;
  while (size > 0) {
    const ssize_t written = sys::Pwrite(written_.fd, bytes, size, offset);
    if (written <= 0) return written < 0 ? static_cast<int>(-written) : ENOSPC;
    bytes += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<uint64_t>(written);
    unsynced_bytes_ += static_cast<uint64_t>(written);
  }
  if (pages_ == Pages::kGivenUp && unsynced_bytes_ >= kMostUnsyncedBytes) GivePagesUp();
  return 0;
}

// Writes the pages out and drops them.  If the file system cannot, they stay: a file system in
// memory has no other place for them.
void CopyFile::GivePagesUp() {
  constexpr unsigned kWriteAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  sys::SyncFileRange(written_.fd, 0, 0, kWriteAndWait);
  sys::Fadvise(written_.fd, 0, 0, POSIX_FADV_DONTNEED);
  unsynced_bytes_ = 0;
}

bool CopyFile::SetName(internal::FixedText<NAME_MAX + 1>* name, std::string_view kind,
                       uint32_t number) {
  name->Clear().Add({stem_.text(), stem_.length()});
  if (attempt_ > 1) name->Add(".").AddNumber(attempt_);
  name->Add(".").Add(kind);
  if (number != 0) name->Add(".").AddNumber(number);
  return name->Add(".rec").fits();
}

int CopyFile::Rename(const char* from, const char* to, unsigned flags) {
  const long result =
      flags == 0 ? -ENOSYS
                 : sys::SystemCall(SYS_renameat2, directory_fd_, from, directory_fd_, to, flags);
  // Some kernels and file systems do not know the flags.
  if (result != -EINVAL && result != -ENOSYS) return static_cast<int>(-result);
  return -sys::RenameAt(directory_fd_, from, directory_fd_, to);
}

// Returns EEXIST if another process holds files of these names.
int CopyFile::GiveName(std::string_view kind, uint32_t keep) {
  if (!SetName(&to_, kind, 1)) return ENAMETOOLONG;
  if (IsHeld(to_.text(), *HeldOf(kind))) return EEXIST;
  for (uint32_t number = keep; number > 1; --number) {
    if (!SetName(&from_, kind, number - 1) || !SetName(&to_, kind, number)) return ENAMETOOLONG;
    const int error = Rename(from_.text(), to_.text(), 0);
    if (error != 0 && error != ENOENT) return error;
  }
  if (!SetName(&to_, kind, 1)) return ENAMETOOLONG;
  // Another process may have made a file of that name meanwhile.
  return Rename(saving_.text(), to_.text(), keep > 1 ? kNoReplace : 0);
}

int CopyFile::Finish(std::string_view kind, uint32_t keep) {
  if (pages_ == Pages::kGivenUp) GivePagesUp();
  int error = GiveName(kind, keep);
  while (error == EEXIST && attempt_ < kMostAttempts) {
    ++attempt_;
    error = GiveName(kind, keep);
  }
  if (error != 0) return error;
  Held* const held = HeldOf(kind);
  Release(held);
  *held = written_;
  held->kind = kind;
  written_.fd = -1;
  return 0;
}

void CopyFile::Abandon() {
  if (written_.fd < 0) return;
  Release(&written_);
  sys::UnlinkAt(directory_fd_, saving_.text());
}

const char* CopyFile::PathOf(std::string_view kind) {
  SetName(&to_, kind, 1);
  path_.Clear().Add({directory_.text(), directory_.length()}).Add("/");
  return path_.Add({to_.text(), to_.length()}).text();
}

}  // namespace allomon::triggers
