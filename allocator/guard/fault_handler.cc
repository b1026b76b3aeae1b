#include "allocator/guard/fault_handler.h"

#include <pthread.h>
#include <ucontext.h>

#include <cerrno>

#include "allocator/guard/error_report.h"
#include "allocator/guard/guarded_pool.h"
#include "tracker/base/signal_frame.h"

namespace allomon::internal {
namespace {

// The actions that were installed before the guard's.  Stored before the guard's are installed.
struct sigaction g_before_segv = {};
struct sigaction g_before_bus = {};

struct sigaction& BeforeOf(int signal) {
  return signal == SIGSEGV ? g_before_segv : g_before_bus;
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

#if defined(__x86_64__)
// Bit 1 of the page fault's error code (Intel SDM, volume 3, 4.7).
AccessKind AccessOf(const ucontext_t& context) {
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0 ? AccessKind::kWrite : AccessKind::kRead;
}
#else
AccessKind AccessOf(const ucontext_t&) { return AccessKind::kUnknown; }
#endif

// Passes the signal to the system's default action.  A fault recurs when the handler returns. A
// signal that a process sent is raised again here, and is delivered when the handler returns.
void LeaveToSystem(int signal, const siginfo_t& info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (info.si_code <= 0) raise(signal);
}

void CallHandler(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
}

// Calls the earlier handler as the kernel would.  The signal mask needs no change: the guard's
// handler was installed with the mask of the earlier one.
void LeaveToThoseBefore(int signal, siginfo_t* info, void* context) {
  struct sigaction& before = BeforeOf(signal);
  if (HasHandler(before)) {
    const struct sigaction now = before;
    if ((now.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
      before.sa_flags &= ~SA_SIGINFO;
      before.sa_handler = SIG_DFL;
    }
    CallHandler(now, signal, info, context);
  } else if (before.sa_handler != SIG_IGN || info->si_code > 0) {
    // A fault cannot be ignored.
    LeaveToSystem(signal, *info);
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  ReportFaultInPool(*info, context);
  errno = saved_errno;
  LeaveToThoseBefore(signal, info, context);
}

// The guard's handler is installed with the mask and the flags of the earlier handler, which then
// runs as it would have without the guard.  If there is no earlier handler, the guard's handler
// runs on the thread's alternative stack, if the thread has one.
void Install(int signal) {
  struct sigaction& before = BeforeOf(signal);
  if (sigaction(signal, nullptr, &before) != 0) return;
  struct sigaction ours = {};
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  if (HasHandler(before)) {
    ours.sa_mask = before.sa_mask;
    ours.sa_flags = SA_SIGINFO | (before.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
  }
  ours.sa_sigaction = OnFault;
  sigaction(signal, &ours, nullptr);
}

}  // namespace

void InstallFaultHandlers() {
  Install(SIGSEGV);
  Install(SIGBUS);
}

bool ReportFaultInPool(const siginfo_t& info, void* context) {
  if (info.si_code <= 0 || !TheGuardedPool().Contains(info.si_addr)) return false;
  const ucontext_t& state = *static_cast<const ucontext_t*>(context);
  ReportFault(reinterpret_cast<uintptr_t>(info.si_addr), AccessOf(state),
              InterruptedFrame(context));
  return true;
}

}  // namespace allomon::internal
