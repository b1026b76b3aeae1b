#include "tracker/control/control_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/clock.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/formats/control_names.h"
#include "tracker/formats/version.h"
#include "tracker/recording/bus_errors.h"
#include "tracker/recording/recorder_lock.h"

namespace allomon::control {
namespace {

namespace sys = internal::sys;

constexpr uint64_t kFileBytes = 8192;

void SetPath(const char* folder, uint32_t pid, uint64_t pid_namespace, recording::FilePath* path) {
  const ControlStem stem = ControlStemOf(pid, pid_namespace);
  ALLOMON_DCHECK_LT("inv.control.text", strlen(folder) + strlen(stem.text) + strlen(kNameSuffix),
                    sizeof(path->text));
  strcpy(path->text, folder);
  strcat(path->text, stem.text);
  strcat(path->text, kNameSuffix);
}

// Returns the current pid namespace; a child may be in another one than its parent.
uint64_t OwnPidNamespace() {
  struct stat status;
  return sys::FstatAt(AT_FDCWD, kOwnPidNamespace, &status, 0) == 0 ? status.st_ino : 0;
}

int CreateFile(const char* path) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return sys::Open(path, kFlags, 0600);
}

// Allocates a few pages, which is done before the next signal comes.  If the file system cannot
// allocate, it is written to.
bool Allocate(int fd) {
  int error = 0;
  do {
    error = sys::Fallocate(fd, 0, kFileBytes);
  } while (error == -EINTR);
  if (error != -EOPNOTSUPP) return error == 0;
  constexpr char kZeros[512] = {};
  for (uint64_t at = 0; at < kFileBytes; at += sizeof(kZeros)) {
    if (sys::Pwrite(fd, kZeros, sizeof(kZeros), at) != sizeof(kZeros)) return false;
  }
  return true;
}

}  // namespace

uint64_t BootNanos() { return internal::ClockNanos(CLOCK_BOOTTIME); }

const char* ControlFile::Open(uint32_t pid, uint32_t parent_pid) {
  const ErrnoKeeper keeper;
  const char* error = nullptr;
  pid_namespace_ = OwnPidNamespace();
  for (const char* const folder : kFolders) {
    error = Create(folder, pid);
    if (error != nullptr) continue;
    folder_ = folder;
    Write(pid, parent_pid);
    return nullptr;
  }
  return error;
}

const char* ControlFile::Create(const char* folder, uint32_t pid) {
  SetPath(folder, pid, pid_namespace_, &path_);
  // Removes the page of a process that had the same id, or of this one before an exec.  If the
  // namespace is not known, the page may belong to a running process, so it stays.
  if (pid_namespace_ != 0) sys::Unlink(path_.text);
  const int fd = CreateFile(path_.text);
  if (fd < 0) return "no control page can be made in /dev/shm or in /tmp";
  const char* const error = Map(fd);
  sys::Close(fd);
  if (error != nullptr) sys::Unlink(path_.text);
  return error;
}

// The pages are allocated before they are touched.
const char* ControlFile::Map(int fd) {
  if (!Allocate(fd)) return "there is no room for a control page";
  void* const pages = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED) return "there are no addresses for a control page";
  ALLOMON_DCHECK_EQ("inv.control.page", page_, nullptr);
  page_ = static_cast<Page*>(pages);
  const recording::RecorderHold hold;
  recording::WatchBusErrors(static_cast<const char*>(pages), kFileBytes);
  return nullptr;
}

void ControlFile::Write(uint32_t pid, uint32_t parent_pid) {
  page_->version = kLayoutVersion;
  page_->size_bytes = sizeof(Page);
  page_->pid = pid;
  page_->parent_pid = parent_pid;
  page_->made_at_nanos = BootNanos();
  strncpy(page_->library_version, kVersion, sizeof(page_->library_version) - 1);
  // The magic is written last: a command may have the file open already.
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(page_->magic, kMagic, sizeof(kMagic));
}

bool ControlFile::IsWhole() const {
  return page_ != nullptr && !recording::HadBusError(reinterpret_cast<const char*>(page_));
}

void ControlFile::Forget() {
  if (page_ == nullptr) return;
  {
    const recording::RecorderHold hold;
    recording::UnwatchBusErrors(reinterpret_cast<const char*>(page_));
  }
  munmap(page_, kFileBytes);
  page_ = nullptr;
}

void ControlFile::Unlink() {
  if (page_ != nullptr) sys::Unlink(path_.text);
}

}  // namespace allomon::control
