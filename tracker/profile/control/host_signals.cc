// Overrides the C library's sigaction and signal.  A host's action for the signal of the ticks is
// kept for the host, and the ticks' handler stays installed
// (tracker/profile/sources/shared_signal.h).  The handlers that write a profile are hidden from the
// host (write_on_signal.h).  All other signals are passed to the C library.
//
// A host that makes the system call itself is not affected.
#include <dlfcn.h>
#include <signal.h>

#include <atomic>
#include <cerrno>

#include "tracker/profile/control/write_on_signal.h"
#include "tracker/profile/sources/shared_signal.h"

namespace {

using SigactionFunction = int (*)(int, const struct sigaction*, struct sigaction*);
using SignalFunction = sighandler_t (*)(int, sighandler_t);

// Looked up before main: a host's first call may be in a signal handler, where dlsym() could wait
// for a lock of its own thread.  Constructors of the host's libraries may call earlier.
template <typename Function>
Function Next(std::atomic<void*>& known, const char* name) {
  void* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = dlsym(RTLD_NEXT, name);
    known.store(next, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function>(next);
}

SigactionFunction NextSigaction() {
  static std::atomic<void*> known{nullptr};
  return Next<SigactionFunction>(known, "sigaction");
}

SignalFunction NextSignal() {
  static std::atomic<void*> known{nullptr};
  return Next<SignalFunction>(known, "signal");
}

// The function that programs compiled for System V call as signal().
SignalFunction NextSysvSignal() {
  static std::atomic<void*> known{nullptr};
  return Next<SignalFunction>(known, "__sysv_signal");
}

__attribute__((constructor)) void LookUp() {
  NextSigaction();
  NextSignal();
  NextSysvSignal();
}

sighandler_t SetWatched(int number, sighandler_t handler, int flags) {
  struct sigaction action = {};
  struct sigaction former = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  const SigactionFunction next = NextSigaction();
  if (next == nullptr || handler == SIG_ERR ||
      allomon::internal::SigactionOfHost(number, &action, &former, next) != 0) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return former.sa_handler;
}

sighandler_t SetHandler(SignalFunction next, int number, sighandler_t handler, int flags) {
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

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* former) noexcept {
  if (allomon::internal::IsSharedSignal(number)) {
    allomon::internal::SetHostAction(action, former);
    return 0;
  }
  const SigactionFunction next = NextSigaction();
  if (next != nullptr) return allomon::internal::SigactionOfHost(number, action, former, next);
  errno = ENOSYS;
  return -1;
}

__attribute__((visibility("default"))) sighandler_t signal(int number,
                                                           sighandler_t handler) noexcept {
  return SetHandler(NextSignal(), number, handler, SA_RESTART);
}

__attribute__((visibility("default"))) sighandler_t __sysv_signal(int number,
                                                                  sighandler_t handler) noexcept {
  return SetHandler(NextSysvSignal(), number, handler, static_cast<int>(SA_RESETHAND));
}
}
