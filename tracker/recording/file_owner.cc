#include "tracker/recording/file_owner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "tracker/base/sys/raw_calls.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {
namespace {

namespace sys = internal::sys;

template <typename Value>
bool ReadAt(int fd, uint64_t offset, Value* value) {
  return sys::Pread(fd, value, sizeof(*value), offset) == sizeof(*value);
}

// Returns the id of the process that began the file and has not marked its end; 0 if no process
// does.
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
  if (process_id > INT32_MAX) return false;
  const int error = sys::Kill(static_cast<pid_t>(process_id), 0);
  return error == 0 || error == -EPERM;
}

// A lock of the whole file (flock(2)), which ends with the process however it ends.
bool Lock(int fd) { return sys::SystemCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0; }

}  // namespace

void HoldFile(int fd) { Lock(fd); }

bool IsOfAnother(const FilePath& path, uint32_t process_id) {
  struct stat status;
  if (sys::Lstat(path.text, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const int fd = sys::Open(path.text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const uint32_t owner = OwnerOf(fd);
  const bool is_held = owner != 0 && !Lock(fd);
  sys::Close(fd);
  return is_held || (owner != 0 && owner != process_id && Runs(owner));
}

}  // namespace allomon::recording
