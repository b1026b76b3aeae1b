// Learns the names that the program gives its threads: this pthread_setname_np and this prctl
// override the C library's.  See thread_names.h, and host_filter.h for the rest of prctl.
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tracker/base/errno_keeper.h"
#include "tracker/base/next_symbol.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/recording/host_filter.h"
#include "tracker/recording/thread_names.h"

namespace allomon::recording {
namespace {

namespace sys = internal::sys;

using SetName = int (*)(pthread_t, const char*);
using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);

// The kernel's clocks of threads have the thread's id in them, inverted, above three bits
// (include/linux/posix-timers.h).  POSIX has no other way from a pthread_t to the id.
constexpr int kBitsBelowThreadId = 3;
constexpr size_t kMostName = 15;  // TASK_COMM_LEN, less the zero at the end

// The same as the C library's, for static programs, whose loader finds no next function.
int SetNameByKernel(pthread_t thread, const char* name) {
  const ErrnoKeeper keeper;
  const size_t length = strlen(name);
  if (length > kMostName) return ERANGE;
  if (thread == pthread_self()) {
    return syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0) == 0 ? 0 : errno;
  }
  clockid_t clock;
  if (const int error = pthread_getcpuclockid(thread, &clock); error != 0) return error;
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/comm", ~(clock >> kBitsBelowThreadId));
  const int fd = sys::Open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -fd;
  const ssize_t written = sys::Write(fd, name, length);
  sys::Close(fd);
  if (written < 0) return static_cast<int>(-written);
  return static_cast<size_t>(written) == length ? 0 : EIO;
}

int CallPrctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  return static_cast<int>(syscall(SYS_prctl, option, a, b, c, d));
}

internal::NextSymbol<int(pthread_t, const char*)> g_next_set_name("pthread_setname_np");
internal::NextSymbol<int(int, unsigned long, unsigned long, unsigned long, unsigned long)>
    g_next_prctl("prctl");

__attribute__((constructor)) void LookUp() {
  g_next_set_name.Find();
  g_next_prctl.Find();
}

SetName NextSetName() {
  const SetName next = g_next_set_name.Find();
  return next != nullptr ? next : &SetNameByKernel;
}

Prctl NextPrctl() {
  const Prctl next = g_next_prctl.Find();
  return next != nullptr ? next : &CallPrctl;
}

}  // namespace
}  // namespace allomon::recording

extern "C" __attribute__((visibility("default"))) int pthread_setname_np(pthread_t thread,
                                                                         const char* name) {
  const int error = allomon::recording::NextSetName()(thread, name);
  if (error == 0) allomon::recording::NoteThreadName(thread, name);
  return error;
}

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];  // NOLINT: as the kernel's interface has it
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  const auto next = allomon::recording::NextPrctl();
  allomon::recording::NoteFilter(option);
  const int result = next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  if (option == PR_SET_NAME && result == 0) {
    allomon::recording::NoteThreadName(pthread_self(), reinterpret_cast<const char*>(arguments[0]));
  }
  return result;
}
