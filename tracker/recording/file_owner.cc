#include "tracker/recording/file_owner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tracker/formats/recording_layout.h"

namespace allomon::recording {
namespace {

template <typename Value>
bool ReadAt(int fd, uint64_t offset, Value* value) {
  return pread(fd, value, sizeof(*value), static_cast<off_t>(offset)) == sizeof(*value);
}

// The id of the process that began the file and has not said that it ended; 0 if there is none.
uint32_t OwnerOf(int fd) {
  FileHeader file = {};
  SegmentHeader segment = {};
  ProcessRecord process = {};
  if (!ReadAt(fd, 0, &file) || memcmp(file.magic, kMagic, sizeof(kMagic)) != 0) return 0;
  if (!ReadAt(fd, kSegmentBytes, &segment) || segment.kind != SegmentKind::kProcess) return 0;
  if (!ReadAt(fd, kSegmentBytes + sizeof(SegmentHeader), &process)) return 0;
  return process.begun != 0 && process.ended == 0 ? process.pid : 0;
}

bool Runs(uint32_t process_id) {
  return process_id <= INT32_MAX &&
         (kill(static_cast<pid_t>(process_id), 0) == 0 || errno == EPERM);
}

}  // namespace

bool IsOfAnother(const FilePath& path, uint32_t process_id) {
  struct stat status;
  if (lstat(path.text, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const int fd = open(path.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const uint32_t owner = OwnerOf(fd);
  close(fd);
  return owner != 0 && owner != process_id && Runs(owner);
}

}  // namespace allomon::recording
