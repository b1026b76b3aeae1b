#include "allocator/host/host_stderr.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <initializer_list>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

// Written once, by the first call of RememberStderr(); no file has inode 0.
struct stat g_stderr = {};
bool g_remembered = false;

// The size of a signal set in the kernel.
constexpr size_t kKernelSetBytes = 8;

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_ino != 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool HasAppend(int flags) { return flags >= 0 && (flags & O_APPEND) != 0; }

// Standard error is a daemon's log if its file is standard output, too, or is opened for appending.
// Neither is true of a data file.
bool IsALog(const struct stat& now) {
  struct stat output = {};
  if (sys::Fstat(STDOUT_FILENO, &output) == 0 && IsSameFile(output, now)) return true;
  return S_ISREG(now.st_mode) && HasAppend(sys::Fcntl(STDERR_FILENO, F_GETFL));
}

bool MayBeWritten(struct stat* now) {
  return sys::Fstat(STDERR_FILENO, now) == 0 && (IsSameFile(g_stderr, *now) || IsALog(*now));
}

// /dev/null
bool IsNull(const struct stat& file) {
  return S_ISCHR(file.st_mode) && file.st_rdev == makedev(1, 3);
}

}  // namespace

void RememberStderr() {
  if (g_remembered) return;
  g_remembered = true;
  if (sys::Fstat(STDERR_FILENO, &g_stderr) != 0) g_stderr.st_ino = 0;
}

void WriteToStderr(const char* text, size_t bytes) {
  const NoSignalsFromWriting quiet;
  struct stat now = {};
  if (!MayBeWritten(&now)) return;
  while (bytes > 0) {
    const ssize_t written = sys::Write(STDERR_FILENO, text, bytes);
    if (written <= 0) return;  // standard error has no reader left
    text += written;
    bytes -= static_cast<size_t>(written);
  }
}

bool StderrIsRead() {
  struct stat now = {};
  return MayBeWritten(&now) && !IsNull(now);
}

NoSignalsFromWriting::NoSignalsFromWriting() {
  sigset_t pending;
  sigpending(&pending);
  sigemptyset(&raised_);
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (!sigismember(&pending, signal)) sigaddset(&raised_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &raised_, &outer_);
}

NoSignalsFromWriting::~NoSignalsFromWriting() {
  const timespec now = {};
  while (sys::SystemCallUntilDone(SYS_rt_sigtimedwait, &raised_, 0, &now, kKernelSetBytes) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &outer_, nullptr);
}

}  // namespace allomon::internal
