#include "tools/load/read_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace allomon::load {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;

class File {
 public:
  explicit File(const std::string& path)
      : fd_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ > STDIN_FILENO) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status CannotRead(const std::string& path, int error) {
  std::string line = "cannot read " + path + ": " + strerror(error);
  if (error == ENOENT) line += "; name the file that allomon run has written";
  if (error == EACCES) line += "; make it readable";
  if (error == EISDIR) line += "; name the file in it";
  return absl::InvalidArgumentError(line);
}

absl::Status TooLarge(const std::string& path, size_t max_bytes) {
  return absl::InvalidArgumentError(path + " has more than " + std::to_string(max_bytes >> 20) +
                                    " MiB: record fewer stacks (--limit)");
}

// Returns 0 if the size is not known; then the file is read until it ends.
size_t SizeOf(int fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<size_t>(status.st_size);
}

}  // namespace

absl::StatusOr<std::string> ReadBytes(const std::string& path, size_t max_bytes) {
  const File file(path);
  if (file.fd() < 0) return CannotRead(path, errno);
  const size_t size = SizeOf(file.fd());
  if (size > max_bytes) return TooLarge(path, max_bytes);
  std::string bytes;
  bytes.reserve(size + 1);
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t got = read(file.fd(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, errno);
    if (got == 0) return bytes;
    if (bytes.size() + got > max_bytes) return TooLarge(path, max_bytes);
    bytes.append(chunk, 0, got);
  }
}

}  // namespace allomon::load
