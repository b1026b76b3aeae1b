#include "tools/run/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace allomon::run {
namespace {

constexpr long kLookAgainNanos = 20'000'000;

void Set(const Variable& variable) {
  if (!variable.is_set) {
    unsetenv(variable.name.c_str());
    return;
  }
  const std::string value = variable.value == "%p" ? std::to_string(getpid()) : variable.value;
  setenv(variable.name.c_str(), value.c_str(), 1);
}

// A process may be set to get a signal when its parent ends (PR_SET_PDEATHSIG).  SIGKILL cannot be
// passed on, and a child does not inherit the setting.
void DieAsParentDoes(pid_t parent, int death_signal) {
  if (death_signal != SIGKILL) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);
}

// Runs in the child.  Writes errno to `report`, which closes by itself when the program is
// executed.
[[noreturn]] void Execute(const std::vector<std::string>& command, const Variables& variables,
                          const Signals& signals, int report) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  for (const Variable& variable : variables) Set(variable);
  signals.Restore();
  execvp(arguments[0], arguments.data());
  const int error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

// Returns 0 if the execution has closed the other end.
int ReadError(int report) {
  int error = 0;
  ssize_t bytes = 0;
  do {
    bytes = read(report, &error, sizeof error);
  } while (bytes < 0 && errno == EINTR);
  return bytes == sizeof error ? error : 0;
}

bool IsStillStopped(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

ChildChange Ended(int status) {
  if (WIFEXITED(status)) return {ChildState::kEnded, 0, WEXITSTATUS(status)};
  return {ChildState::kEnded, WTERMSIG(status), 128 + WTERMSIG(status)};
}

}  // namespace

StartedChild StartChild(const std::vector<std::string>& command, const Variables& variables,
                        const Signals& signals) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return {-1, errno};
  const pid_t parent = getpid();
  int death_signal = 0;
  prctl(PR_GET_PDEATHSIG, &death_signal);
  const pid_t pid = fork();
  if (pid == 0) DieAsParentDoes(parent, death_signal);
  if (pid == 0) Execute(command, variables, signals, report[1]);
  const int fork_error = errno;
  close(report[1]);
  const int error = pid < 0 ? fork_error : ReadError(report[0]);
  close(report[0]);
  if (pid > 0 && error != 0) waitpid(pid, nullptr, 0);
  return {pid, error};
}

int StatusOfError(int error) { return error == ENOENT || error == ENOTDIR ? 127 : 126; }

// Checks a stop twice: when a shell continues the whole process group, this process may run a
// moment before the child does, and would stop again.
ChildChange AskForChild(pid_t pid) {
  if (IsStillStopped(pid)) {
    const timespec pause = {0, kLookAgainNanos};
    nanosleep(&pause, nullptr);
  }
  int status = 0;
  if (waitpid(pid, &status, WNOHANG | WUNTRACED) != pid) return {};
  if (WIFSTOPPED(status)) return {ChildState::kStopped, WSTOPSIG(status), 0};
  return Ended(status);
}

}  // namespace allomon::run
