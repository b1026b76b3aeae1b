#include "tracker/triggers/copy_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::triggers {
namespace {

namespace sys = internal::sys;

// Hosts close and use low descriptors as if they were theirs.
constexpr int kHighDescriptor = 900;

int OpenAt(int directory, const char* name, int flags) {
  return sys::OpenAt(directory, name, flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
}

int MoveUp(int fd) {
  const int high = sys::Fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high < 0) return fd;
  sys::Close(fd);
  return high;
}

// Beyond it the kernel would send SIGXFSZ.
bool LimitAllows(uint64_t end_bytes) {
  rlimit limit = {};
  return sys::Prlimit(RLIMIT_FSIZE, nullptr, &limit) != 0 || end_bytes <= limit.rlim_cur;
}

}  // namespace

void CopyFile::SetPlace(std::string_view directory, std::string_view stem) {
  stem_.Clear().Add(stem);
  if (directory == std::string_view(directory_.text(), directory_.length())) return;
  directory_.Clear().Add(directory);
  if (HasDirectory()) sys::Close(directory_fd_);
  directory_fd_ = -1;
}

// The host may have closed all descriptors, or have a file of its own at ours.
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

int CopyFile::Create() {
  if (!SetName(&from_, "saving", 0)) return ENAMETOOLONG;
  sys::UnlinkAt(directory_fd_, from_.text());  // of a process that was killed
  fd_ = OpenAt(directory_fd_, from_.text(), O_WRONLY | O_CREAT | O_EXCL);
  if (fd_ < 0) return -fd_;
  fd_ = MoveUp(fd_);
  return 0;
}

int CopyFile::Begin(uint64_t end_bytes) {
  if (!directory_.fits() || !stem_.fits()) return ENAMETOOLONG;
  if (!LimitAllows(end_bytes)) return EFBIG;
  const bool was_open = HasDirectory();
  int error = was_open ? 0 : OpenDirectory();
  if (error == 0) error = Create();
  if (error != ENOENT || !was_open) return error;
  // The directory was removed; another may have its name.
  sys::Close(directory_fd_);
  error = OpenDirectory();
  return error == 0 ? Create() : error;
}

int CopyFile::Write(uint64_t offset, const char* bytes, uint64_t size) {
  if (!LimitAllows(offset + size)) return EFBIG;
  while (size > 0) {
    const ssize_t written = sys::Pwrite(fd_, bytes, size, offset);
    if (written <= 0) return written < 0 ? static_cast<int>(-written) : ENOSPC;
    bytes += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<uint64_t>(written);
  }
  return 0;
}

bool CopyFile::SetName(FixedText<NAME_MAX + 1>* name, std::string_view kind, uint32_t number) {
  name->Clear().Add({stem_.text(), stem_.length()}).Add(".").Add(kind);
  if (number != 0) name->Add(".").AddNumber(number);
  return name->Add(".rec").fits();
}

int CopyFile::Rename(const char* from, const char* to) {
  return -sys::RenameAt(directory_fd_, from, directory_fd_, to);
}

void CopyFile::Close() {
  if (fd_ >= 0) sys::Close(fd_);
  fd_ = -1;
}

int CopyFile::Finish(std::string_view kind, uint32_t keep) {
  Close();
  for (uint32_t number = keep; number > 1; --number) {
    if (!SetName(&from_, kind, number - 1) || !SetName(&to_, kind, number)) return ENAMETOOLONG;
    const int error = Rename(from_.text(), to_.text());
    if (error != 0 && error != ENOENT) return error;
  }
  if (!SetName(&from_, "saving", 0) || !SetName(&to_, kind, 1)) return ENAMETOOLONG;
  return Rename(from_.text(), to_.text());
}

void CopyFile::Abandon() {
  Close();
  if (SetName(&from_, "saving", 0)) sys::UnlinkAt(directory_fd_, from_.text());
}

const char* CopyFile::PathOf(std::string_view kind) {
  SetName(&to_, kind, 1);
  path_.Clear().Add({directory_.text(), directory_.length()}).Add("/");
  return path_.Add({to_.text(), to_.length()}).text();
}

}  // namespace allomon::triggers
