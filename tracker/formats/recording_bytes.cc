#include "tracker/formats/recording_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace allomon::recording {

bool MemoryBytes::Read(uint64_t offset, void* to, size_t count) const {
  if (offset > count_ || count > count_ - offset) return false;
  if (count != 0) std::memcpy(to, begin_ + offset, count);
  return true;
}

uint64_t DescriptorBytes::size() const {
  struct stat status = {};
  return fstat(fd_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool DescriptorBytes::Read(uint64_t offset, void* to, size_t count) const {
  auto* next = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = pread(fd_, next, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<size_t>(got);
  }
  return true;
}

uint64_t DescriptorBytes::NextData(uint64_t offset) const {
  const off_t next = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
  if (next >= 0) return static_cast<uint64_t>(next);
  return errno == ENXIO ? UINT64_MAX : offset;  // ENXIO: the rest is a hole
}

FileBytes::~FileBytes() {
  if (fd_ >= 0) close(fd_);
}

bool FileBytes::Open(const std::string& path, std::string* error) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    *error = std::strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    *error = "not a regular file";
    return false;
  }
  return true;
}

}  // namespace allomon::recording
