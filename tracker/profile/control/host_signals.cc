// Overrides the C library's functions that set what a signal does.  A host's action for the signal
// of the ticks is kept for the host, and the ticks' handler stays installed
// (tracker/profile/sources/shared_signal.h).  The handlers that write a profile are hidden from the
// host (write_on_signal.h).  All other signals are passed to the C library.
//
// A host that makes the system call itself is not affected.
#include <signal.h>

#include <cerrno>

#include "tracker/base/next_symbol.h"
#include "tracker/profile/control/write_on_signal.h"
#include "tracker/profile/sources/shared_signal.h"

namespace {

using allomon::internal::NextSymbol;
using SignalFunction = sighandler_t(int, sighandler_t);

NextSymbol<int(int, const struct sigaction*, struct sigaction*)> g_next_sigaction("sigaction");
NextSymbol<SignalFunction> g_next_signal("signal");
// The function that programs compiled for System V call as signal().
NextSymbol<SignalFunction> g_next_sysv_signal("__sysv_signal");
NextSymbol<SignalFunction> g_next_sigset("sigset");
NextSymbol<int(int)> g_next_sigignore("sigignore");
NextSymbol<int(int, int)> g_next_siginterrupt("siginterrupt");

// A host's first call may be in a signal handler, or in a child of fork, where dlsym() could wait
// for a lock of its own thread, or for ever.
__attribute__((constructor)) void LookUp() {
  g_next_sigaction.Find();
  g_next_signal.Find();
  g_next_sysv_signal.Find();
  g_next_sigset.Find();
  g_next_sigignore.Find();
  g_next_siginterrupt.Find();
}

sighandler_t SetWatched(int number, sighandler_t handler, int flags) {
  struct sigaction action = {};
  struct sigaction former = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  const auto next = g_next_sigaction.Find();
  if (next == nullptr || handler == SIG_ERR ||
      allomon::internal::SigactionOfHost(number, &action, &former, next) != 0) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return former.sa_handler;
}

bool IsOfTheProfiler(int number) {
  return allomon::internal::IsSharedSignal(number) || allomon::internal::IsWatched(number);
}

sighandler_t SetHandler(SignalFunction* next, int number, sighandler_t handler, int flags) {
  if (allomon::internal::IsWatched(number)) return SetWatched(number, handler, flags);
  if (!allomon::internal::IsSharedSignal(number)) {
    if (next != nullptr) return next(number, handler);
    errno = ENOSYS;
    return SIG_ERR;
  }
  struct sigaction action = {};
  struct sigaction former;
  action.sa_handler = handler;
  action.sa_flags = flags;
  allomon::internal::SetHostAction(&action, &former);
  return former.sa_handler;
}

sighandler_t HandlerOfHost(int number) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  return action.sa_handler;
}

// Does sigset() of System V for a signal of the profiler.
sighandler_t SetAndUnblock(int number, sighandler_t handler) {
  const bool holds = handler == SIG_HOLD;
  const sighandler_t former =
      holds ? HandlerOfHost(number) : SetHandler(g_next_signal.Find(), number, handler, 0);
  if (former == SIG_ERR) return SIG_ERR;
  sigset_t it;
  sigset_t former_mask;
  sigemptyset(&it);
  sigaddset(&it, number);
  pthread_sigmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &it, &former_mask);
  return sigismember(&former_mask, number) == 1 ? SIG_HOLD : former;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* former) noexcept {
  if (allomon::internal::IsSharedSignal(number)) {
    allomon::internal::SetHostAction(action, former);
    return 0;
  }
  const auto next = g_next_sigaction.Find();
  if (next != nullptr) return allomon::internal::SigactionOfHost(number, action, former, next);
  errno = ENOSYS;
  return -1;
}

__attribute__((visibility("default"))) sighandler_t signal(int number,
                                                           sighandler_t handler) noexcept {
  return SetHandler(g_next_signal.Find(), number, handler, SA_RESTART);
}

__attribute__((visibility("default"))) sighandler_t __sysv_signal(int number,
                                                                  sighandler_t handler) noexcept {
  return SetHandler(g_next_sysv_signal.Find(), number, handler, static_cast<int>(SA_RESETHAND));
}

// Other names of the same functions.
__attribute__((visibility("default"))) sighandler_t bsd_signal(int number,
                                                               sighandler_t handler) noexcept {
  return signal(number, handler);
}

__attribute__((visibility("default"))) sighandler_t ssignal(int number,
                                                            sighandler_t handler) noexcept {
  return signal(number, handler);
}

__attribute__((visibility("default"))) sighandler_t sysv_signal(int number,
                                                                sighandler_t handler) noexcept {
  return __sysv_signal(number, handler);
}

__attribute__((visibility("default"))) sighandler_t sigset(int number,
                                                           sighandler_t handler) noexcept {
  if (IsOfTheProfiler(number)) return SetAndUnblock(number, handler);
  const auto next = g_next_sigset.Find();
  if (next != nullptr) return next(number, handler);
  errno = ENOSYS;
  return SIG_ERR;
}

__attribute__((visibility("default"))) int sigignore(int number) noexcept {
  if (IsOfTheProfiler(number)) {
    return SetHandler(g_next_signal.Find(), number, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
  }
  const auto next = g_next_sigignore.Find();
  if (next != nullptr) return next(number);
  errno = ENOSYS;
  return -1;
}

// The C library would install our handlers anew, with its own way back from them.
__attribute__((visibility("default"))) int siginterrupt(int number, int interrupts) noexcept {
  if (IsOfTheProfiler(number)) return 0;
  const auto next = g_next_siginterrupt.Find();
  if (next != nullptr) return next(number, interrupts);
  errno = ENOSYS;
  return -1;
}
}
