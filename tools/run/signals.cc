#include "tools/run/signals.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace allomon::run {
namespace {

constexpr int kTaken[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
                          SIGTSTP, SIGWINCH, SIGPWR,  SIGCHLD, SIGPIPE, SIGXFSZ, SIGIO};
constexpr int kNotForTheProgram[] = {SIGCHLD, SIGPIPE, SIGXFSZ, SIGIO};

sigset_t Taken() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kTaken) sigaddset(&set, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&set, signal);
  return set;
}

timespec Time(int milliseconds) { return {milliseconds / 1000, milliseconds % 1000 * 1'000'000L}; }

bool IsInForeground() {
  const int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0) return false;
  const bool in_foreground = tcgetpgrp(terminal) == getpgrp();
  close(terminal);
  return in_foreground;
}

// Raises the signal with its default action.  The action takes place when the signal is unblocked;
// afterwards the signal is blocked again if it was.
void RaiseByDefault(int signal) {
  struct sigaction action_before;
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, &action_before);
  sigset_t set;
  sigset_t blocked_before;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, &blocked_before);
  sigprocmask(SIG_SETMASK, &blocked_before, nullptr);
  sigaction(signal, &action_before, nullptr);
}

}  // namespace

// Sets SIGCHLD to its default: it may be ignored by inheritance, and then waiting returns no
// status.
Signals::Signals() : taken_(Taken()) {
  sigprocmask(SIG_BLOCK, &taken_, &blocked_before_);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, &child_before_);
}

// A write that failed has left its signal, which would end this process when it is unblocked.
Signals::~Signals() {
  sigset_t of_writes;
  sigemptyset(&of_writes);
  sigaddset(&of_writes, SIGPIPE);
  sigaddset(&of_writes, SIGXFSZ);
  const timespec now = {0, 0};
  while (sigtimedwait(&of_writes, nullptr, &now) > 0) {
  }
  Restore();
}

void Signals::Restore() const {
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &blocked_before_, nullptr);
}

int Signals::Wait(int milliseconds, siginfo_t* info) const {
  const timespec time = Time(milliseconds);
  for (;;) {
    const int signal =
        milliseconds < 0 ? sigwaitinfo(&taken_, info) : sigtimedwait(&taken_, info, &time);
    if (signal > 0) return signal;
    if (errno == EAGAIN) return 0;
  }
}

// The kernel sends an alarm that was set before this program was executed, and the hangup of a
// terminal to the leader of its session, to this process alone.
bool IsToBePassedOn(int signal, const siginfo_t& info) {
  for (const int other : kNotForTheProgram) {
    if (signal == other) return false;
  }
  return info.si_code != SI_KERNEL || signal == SIGALRM ||
         (signal == SIGHUP && getsid(0) == getpid());
}

bool IsRequestToEnd(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// If no shell waits for the process group (it is orphaned), Linux ignores SIGTSTP for all of it.
// In the background a SIGSTOP is ignored: a debugger may have sent it to the child alone, and will
// continue the child, but not this process.
bool StopLike(int signal) {
  if (signal == SIGSTOP && !IsInForeground()) return false;
  RaiseByDefault(signal == SIGSTOP ? SIGTSTP : signal);
  return true;
}

void DieBy(int signal) {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  RaiseByDefault(signal);
}

}  // namespace allomon::run
