// sigaction and signal, in front of the C library's: a host does not notice the handlers by which
// it is profiled (write_on_signal.h).
//
// Async-signal-safe; may be called after vfork.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "allocator/host_stderr.h"
#include "tracker/profile/control/write_on_signal.h"

// The C library's sigaction(), by the name that no host replaces.
extern "C" int __sigaction(int signal, const struct sigaction* action,
                           struct sigaction* old) noexcept;

namespace {

using Signal = sighandler_t (*)(int, sighandler_t);

// Looked up before main, because dlsym() may not be called in a signal handler.
Signal g_next_signal = nullptr;
__attribute__((constructor)) void FindNext() {
  g_next_signal = reinterpret_cast<Signal>(dlsym(RTLD_NEXT, "signal"));
}

void SayTaken() {
  static constexpr char kLine[] =
      "allomon: ALLOMON_DUMP: the program itself handles or ignores this signal now, so no file is "
      "written when it arrives; choose another\n";
  allomon::internal::WriteToStderr(kLine, sizeof(kLine) - 1);
}

int Sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  bool taken = false;
  const int result = allomon::internal::SigactionOfHost(signal, action, old, __sigaction, &taken);
  if (taken) SayTaken();
  return result;
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
  if (g_next_signal != nullptr && !allomon::internal::IsWatched(number)) {
    return g_next_signal(number, handler);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  struct sigaction old = {};
  if (handler == SIG_ERR || sigemptyset(&action.sa_mask) != 0 ||
      Sigaction(number, &action, &old) != 0) {
    if (handler == SIG_ERR) errno = EINVAL;
    return SIG_ERR;
  }
  return old.sa_handler;
}

}  // extern "C"
