#include "tracker/formats/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace allomon {
namespace {

constexpr size_t kMaxCompared = 4096;

// All of these return 0 or the errno of the call that failed.

int Open(const std::string& path, int flags, int mode, int* fd) {
  do {
    *fd = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, static_cast<mode_t>(mode));
  } while (*fd < 0 && errno == EINTR);
  return *fd < 0 ? errno : 0;
}

int WriteAll(int fd, std::string_view rest) {
  while (!rest.empty()) {
    ssize_t written = write(fd, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (written == 0) {
      return ENOSPC;  // no progress and no reason: do not spin
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// A quota or a file server may report a full disk only here.  Linux has closed the descriptor even
// when it says EINTR; a second close could hit another thread's file.
int Close(int fd) { return close(fd) == 0 || errno == EINTR ? 0 : errno; }

int WriteAndClose(int fd, std::string_view contents) {
  int write_error = WriteAll(fd, contents);
  int close_error = Close(fd);
  return write_error != 0 ? write_error : close_error;
}

bool IsUnder(const std::string& path, std::string_view directory) {
  return path.compare(0, directory.size(), directory) == 0;
}

// Whether the path leads to a file that the process has open and will go on using, such as
// /dev/stdout. /dev/shm is an ordinary folder to which everybody may write.
bool IsMeantAsLink(const std::string& path) {
  return (IsUnder(path, "/dev/") && !IsUnder(path, "/dev/shm/")) || IsUnder(path, "/proc/");
}

// O_NONBLOCK turns a pipe without a reader into ENXIO: open() would wait for ever at the end of a
// program.  A slow reader is waited for, as with any output.
int OpenExisting(const std::string& path, int* fd) {
  int flags = O_APPEND | O_NONBLOCK;
  if (!IsMeantAsLink(path)) flags |= O_NOFOLLOW;  // it was no link a moment ago
  if (int error = Open(path, flags, 0, fd)) return error;
  const int now = fcntl(*fd, F_GETFL);
  return now >= 0 && fcntl(*fd, F_SETFL, now & ~O_NONBLOCK) == 0 ? 0 : errno;
}

// Appends, because the target of /dev/stdout has the host's own output in it.
int WriteDirectly(const std::string& path, std::string_view contents) {
  int fd = -1;
  if (int error = OpenExisting(path, &fd)) return error;
  return WriteAndClose(fd, contents);
}

// Returns a name in the same directory, hence on the same file system, as rename demands.  It is
// not an extension of the path's last part, which may already have the maximum length.
std::string TemporaryName(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return directory + ".allomon-" + std::to_string(getpid()) + "-" +
         std::to_string(serial.fetch_add(1, std::memory_order_relaxed)) + ".tmp";
}

int CreateBeside(const std::string& path, int mode, std::string* name, int* fd) {
  int error = EEXIST;
  // A name is taken only if a process of the same id was killed halfway, here or in another pid
  // namespace.  A hundred of those are an error to report.
  for (int i = 0; i < 100 && error == EEXIST; ++i) {
    *name = TemporaryName(path);
    error = Open(*name, O_CREAT | O_EXCL, mode, fd);
  }
  return error;
}

// Writes the new contents into a temporary file in the same directory.  On failure no file stays.
int Prepare(const FileToWrite& file, std::string* temporary) {
  int fd = -1;
  if (int error = CreateBeside(file.path, file.mode, temporary, &fd)) return error;
  int error = WriteAndClose(fd, file.contents);
  if (error != 0) unlink(temporary->c_str());
  return error;
}

// Whether the file has these contents and is ours alone, so that keeping it surprises no other
// user: its mode is at most the requested one, and it has no other name.
bool AlreadyHolds(int fd, const FileToWrite& file) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      status.st_nlink != 1 || (status.st_mode & 07777 & ~static_cast<mode_t>(file.mode)) != 0 ||
      static_cast<uint64_t>(status.st_size) != file.contents.size()) {
    return false;
  }
  char held[kMaxCompared];
  return read(fd, held, sizeof(held)) == status.st_size &&
         memcmp(held, file.contents.data(), file.contents.size()) == 0;
}

// Renews the time of a small file that has the contents already.  A short program that runs
// repeatedly writes the same each time: on ext4, to replace a file takes 75 us, and this 6.
bool RenewInPlace(const std::string& target, const FileToWrite& file) {
  if (file.contents.size() > kMaxCompared) return false;
  const int fd = open(target.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  const bool renewed = AlreadyHolds(fd, file) && futimens(fd, nullptr) == 0;
  close(fd);
  return renewed;
}

const char* Remedy(int error) {
  switch (error) {
    case ENOENT:
      return "create the directory or choose another output";
    case ENOTDIR:
      return "part of the path is a file, choose another output";
    case EISDIR:
      return "it is a directory, choose a file in it";
    case EACCES:
    case EPERM:
    case EROFS:
      return "make the directory writable or choose another output";
    case ENXIO:
      return "nobody reads this pipe, start its reader first";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "make room or choose another output";
    default:
      return "choose another output";
  }
}

std::string Message(const std::string& path, int error) {
  std::string message = "cannot write " + path + ": " + strerror(error) + "; " + Remedy(error);
  for (char& c : message) {
    if (c == '\n') c = '?';  // a path may contain one, but a message is one line
  }
  return message;
}

}  // namespace

// A symbolic link is replaced as well: a user who may create files in the directory could have made
// it so that another file of ours is overwritten.
bool IsReplacedByWriting(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode) || (S_ISLNK(status.st_mode) && !IsMeantAsLink(path));
}

namespace {

// A file to be written, and the temporary file with its new contents.  Without a temporary file it
// is written directly, in its turn.
struct Pending {
  const FileToWrite* file;
  std::string temporary;
  bool done;
};

int PrepareOne(Pending* pending) {
  if (!IsReplacedByWriting(pending->file->path)) return 0;
  pending->done = RenewInPlace(pending->file->path, *pending->file);
  if (pending->done) return 0;
  return Prepare(*pending->file, &pending->temporary);
}

int CommitOne(const Pending& pending) {
  const FileToWrite& file = *pending.file;
  if (pending.done) return 0;
  if (pending.temporary.empty()) return WriteDirectly(file.path, file.contents);
  return rename(pending.temporary.c_str(), file.path.c_str()) == 0 ? 0 : errno;
}

// Removes the new files that were not renamed.
void RemoveTemporaries(const std::vector<Pending>& pending, size_t first) {
  for (size_t i = first; i < pending.size(); ++i) {
    if (!pending[i].temporary.empty()) unlink(pending[i].temporary.c_str());
  }
}

}  // namespace

bool WriteFilesAtomically(const std::vector<FileToWrite>& files, std::string* error) {
  std::vector<Pending> pending;
  pending.reserve(files.size());
  for (const FileToWrite& file : files) {
    pending.push_back({&file, "", false});
    if (int cause = PrepareOne(&pending.back())) {
      pending.pop_back();
      RemoveTemporaries(pending, 0);
      *error = Message(file.path, cause);
      return false;
    }
  }
  for (size_t i = 0; i < pending.size(); ++i) {
    if (int cause = CommitOne(pending[i])) {
      RemoveTemporaries(pending, i);
      *error = Message(pending[i].file->path, cause);
      return false;
    }
  }
  return true;
}

bool WriteFileAtomically(const std::string& path, std::string_view contents, int mode,
                         std::string* error) {
  return WriteFilesAtomically({{path, contents, mode}}, error);
}

FileInPieces::~FileInPieces() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

bool FileInPieces::Open(std::string* error) {
  const bool replaces = IsReplacedByWriting(path_);
  failure_ = replaces ? CreateBeside(path_, mode_, &temporary_, &fd_) : OpenExisting(path_, &fd_);
  if (failure_ == 0) return true;
  temporary_.clear();  // was not made
  *error = Message(path_, failure_);
  return false;
}

void FileInPieces::Write(std::string_view piece) {
  if (failure_ == 0) failure_ = WriteAll(fd_, piece);
}

bool FileInPieces::Commit(std::string* error) {
  const int close_error = Close(std::exchange(fd_, -1));
  if (failure_ == 0) failure_ = close_error;
  if (failure_ == 0 && !temporary_.empty()) {
    if (rename(temporary_.c_str(), path_.c_str()) == 0) {
      temporary_.clear();
    } else {
      failure_ = errno;
    }
  }
  if (failure_ == 0) return true;
  *error = Message(path_, failure_);
  return false;
}

}  // namespace allomon
