// sigaction and signal, in front of the C library's: a host does not notice the handlers by which
// it is profiled, those that write (write_on_signal.h) and that of the ticks (shared_signal.h).  A
// host that makes the system call itself is not reached.
//
// Async-signal-safe; may be called after vfork.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "allocator/host_stderr.h"
#include "tracker/profile/control/write_on_signal.h"
#include "tracker/profile/sources/shared_signal.h"

// The C library's sigaction(), by the name that no host replaces.
extern "C" int __sigaction(int signal, const struct sigaction* action,
                           struct sigaction* old) noexcept;

namespace {

using Signal = sighandler_t (*)(int, sighandler_t);

// Looked up before main, because dlsym() may not be called in a signal handler.
Signal g_next_signal = nullptr;
Signal g_next_sysv_signal = nullptr;
__attribute__((constructor)) void FindNext() {
  g_next_signal = reinterpret_cast<Signal>(dlsym(RTLD_NEXT, "signal"));
  g_next_sysv_signal = reinterpret_cast<Signal>(dlsym(RTLD_NEXT, "__sysv_signal"));
}

void SayTaken() {
  static constexpr char kLine[] =
      "allomon: ALLOMON_DUMP: the program itself handles or ignores this signal now, so no file is "
      "written when it arrives; choose another\n";
  allomon::internal::WriteToStderr(kLine, sizeof(kLine) - 1);
}

int Sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if (allomon::internal::IsSharedSignal(signal)) {
    allomon::internal::SetHostAction(action, old);
    return 0;
  }
  bool taken = false;
  const int result = allomon::internal::SigactionOfHost(signal, action, old, __sigaction, &taken);
  if (taken) SayTaken();
  return result;
}

bool IsOfProfiler(int signal) {
  return allomon::internal::IsSharedSignal(signal) || allomon::internal::IsWatched(signal);
}

sighandler_t SetHandler(Signal next, int number, sighandler_t handler, int flags) {
  if (next != nullptr && !IsOfProfiler(number)) return next(number, handler);
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  struct sigaction old = {};
  if (handler == SIG_ERR || sigemptyset(&action.sa_mask) != 0 ||
      Sigaction(number, &action, &old) != 0) {
    if (handler == SIG_ERR) errno = EINVAL;
    return SIG_ERR;
  }
  return old.sa_handler;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int sigaction(int signal, const struct sigaction* action,
                                                     struct sigaction* old) noexcept {
  return Sigaction(signal, action, old);
}

// BSD's, as the C library's is.
__attribute__((visibility("default"))) sighandler_t signal(int number,
                                                           sighandler_t handler) noexcept {
  return SetHandler(g_next_signal, number, handler, SA_RESTART);
}

// What programs call as signal() that are compiled for System V's.
__attribute__((visibility("default"))) sighandler_t __sysv_signal(int number,
                                                                  sighandler_t handler) noexcept {
  return SetHandler(g_next_sysv_signal, number, handler, static_cast<int>(SA_RESETHAND));
}

}  // extern "C"
