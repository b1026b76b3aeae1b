#include "allocator/host_stderr.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace allomon::internal {
namespace {

struct stat g_stderr = {};

bool IsStillTheSame() {
  struct stat now = {};
  return g_stderr.st_ino != 0 && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == g_stderr.st_dev &&
         now.st_ino == g_stderr.st_ino;
}

}  // namespace

void RememberStderr() {
  if (g_stderr.st_ino != 0) return;
  if (fstat(STDERR_FILENO, &g_stderr) != 0) g_stderr.st_ino = 0;
}

void WriteToStderr(const char* text, size_t bytes) {
  const NoSignalsFromWriting quiet;
  if (!IsStillTheSame()) return;
  while (bytes > 0) {
    const ssize_t written = write(STDERR_FILENO, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody left to tell
    text += written;
    bytes -= static_cast<size_t>(written);
  }
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
  while (sigtimedwait(&raised_, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &outer_, nullptr);
}

}  // namespace allomon::internal
