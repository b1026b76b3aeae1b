#include "allocator/guard.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <cerrno>
#include <utility>

#include "allocator/guard/error_report.h"
#include "allocator/guard/fault_access.h"
#include "allocator/guard/guarded_block.h"
#include "allocator/guard/guarded_pool.h"
#include "allocator/host/high_reservation.h"
#include "allocator/host/host_stderr.h"
#include "allocator/host/malloc_owner.h"
#include "tracker/base/check.h"
#include "tracker/base/signal_frame.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"

namespace allomon {
namespace {

using namespace ::allomon::internal;  // NOLINT: this file implements the guard's public interface

// ---- The handler of SIGSEGV and SIGBUS.  Faults in the guard's pool are reported.  Then they are
// passed, like all other faults, to the handler or the default action that was installed before.

// The actions that were installed before the guard's.  Stored before the guard's are installed.
struct sigaction g_before_segv = {};
struct sigaction g_before_bus = {};

struct sigaction& BeforeOf(int signal) {
  ALLOMON_DCHECK("inv.guard.signal", signal == SIGSEGV || signal == SIGBUS);
  return signal == SIGSEGV ? g_before_segv : g_before_bus;
}

bool HasHandler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

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

// Returns whether the fault is in the pool, and reports the first such fault of the process.
// Async-signal-safe.  Needs about 6 KiB of stack.
bool ReportFaultInPool(const siginfo_t& info, void* context) {
  if (info.si_code <= 0 || !TheGuardedPool().Contains(info.si_addr)) return false;
  const ucontext_t& state = *static_cast<const ucontext_t*>(context);
  ReportFault(reinterpret_cast<uintptr_t>(info.si_addr), AccessOf(state),
              InterruptedFrame(context));
  return true;
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

// Installs the guard's handlers, which run before the present ones.  Called once.
void InstallFaultHandlers() {
  Install(SIGSEGV);
  Install(SIGBUS);
}

// While the phase is kStarting only the thread that starts the guard changes it.  A StopGuard() at
// that time does nothing, as if it came before the start.
enum class Phase { kOff, kStarting, kOn };

struct Control {
  SpinLock lock;
  Phase phase ALLOMON_GUARDED_BY(lock) = Phase::kOff;
  bool prepared ALLOMON_GUARDED_BY(lock) = false;
  // The session that the guard itself has started by StartSampling(); 0 without one.
  uint32_t sampling ALLOMON_GUARDED_BY(lock) = 0;
};
Control g_control;

bool Fail(const char* why, const char** error) {
  *error = why;
  return false;
}

// The pool and the handlers are made once and stay.
bool PrepareLocked(uint64_t seed) ALLOMON_REQUIRES(g_control.lock) {
  ALLOMON_DCHECK("inv.lock.held", g_control.lock.IsHeldForCheck());
  if (g_control.prepared) return true;
  RememberStderr();
  if (!TheGuardedPool().Reserve(seed)) return false;
  InstallFaultHandlers();
  g_control.prepared = true;
  return true;
}

}  // namespace

bool StartGuard(const GuardOptions& options, const char** error) {
  if (options.one_in == 0) return Fail("guard: one_in must be at least 1", error);
  if (!(options.rate >= 0 && options.rate <= 1)) {
    return Fail("guard: the rate must be in [0, 1]", error);
  }
  if (StandsAside()) {
    return Fail("guard: the program defines malloc itself, which gives each block", error);
  }
  const uint64_t seed = options.seed ? *options.seed : KernelRandomBits();
  {
    const SpinLockHolder hold(g_control.lock);
    if (g_control.phase != Phase::kOff) return Fail("guard: it is on already", error);
    if (!PrepareLocked(seed)) return Fail("guard: no address space for its pool", error);
    g_control.phase = Phase::kStarting;
  }
  GoOnAfterErrors(options.goes_on);
  BeginGuarding(options.one_in, seed);
  const uint32_t sampling =
      options.rate == 0 ? 0 : heap_client::StartSampling(options.rate, options.seed);
  const bool started = options.rate == 0 || sampling != 0;
  if (!started) EndGuarding();
  const SpinLockHolder hold(g_control.lock);
  ALLOMON_DCHECK("inv.guard.phase", g_control.phase == Phase::kStarting);
  g_control.phase = started ? Phase::kOn : Phase::kOff;
  g_control.sampling = sampling;
  return started || Fail("guard: too many trackers sample already", error);
}

void StopGuard() {
  uint32_t sampling = 0;
  {
    const SpinLockHolder hold(g_control.lock);
    if (g_control.phase != Phase::kOn) return;
    g_control.phase = Phase::kOff;
    EndGuarding();
    std::swap(sampling, g_control.sampling);
  }
  if (sampling != 0) heap_client::StopSampling(sampling);
}

GuardStatistics ReadGuardStatistics() {
  const GuardCounts counts = CountsOfGuard();
  GuardStatistics statistics;
  statistics.guarded_blocks = counts.guarded;
  statistics.live_blocks = TheGuardedPool().live();
  statistics.too_large = counts.too_large;
  statistics.no_room = counts.no_room;
  statistics.errors = ReportedErrors();
  return statistics;
}

bool ReportGuardedFault(const siginfo_t& info, void* context) {
  return ReportFaultInPool(info, context);
}

}  // namespace allomon
