#include "tools/run/worker.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "tools/run/child.h"

namespace allomon::run {
namespace {

// Owns a descriptor, and closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

WorkProgress* SharedProgress() {
  void* const memory = mmap(nullptr, sizeof(WorkProgress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) WorkProgress;
}

bool WriteAll(int fd, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = write(fd, rest.data(), rest.size());
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string ReadAll(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return "";
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = pread(fd, &bytes[at], bytes.size() - at, static_cast<off_t>(at));
    if (count <= 0) return "";
    at += static_cast<size_t>(count);
  }
  return bytes;
}

// Runs in the child.  Leaves by _exit(), so that destructors of the parent's objects do not run.
[[noreturn]] void Work(int output, const std::function<std::string(WorkProgress*)>& work,
                       WorkProgress* progress) {
  try {
    _exit(WriteAll(output, work(progress)) ? 0 : 1);
  } catch (const std::exception&) {
    _exit(2);
  }
}

std::string WhyNotDone(const ChildChange& end) {
  if (end.signal != 0) return "ended by signal " + std::to_string(end.signal);
  if (end.status == 2) return "out of memory";
  return "out of memory for the result";
}

ChildChange WaitForWorker(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                          bool* interrupted) {
  for (;;) {
    const ChildChange change = AskForChild(pid);
    if (change.state == ChildState::kEnded) return change;
    siginfo_t info = {};
    const int signal = signals.Wait(kTicksMilliseconds, &info);
    if (signal == 0) tick();
    if (IsRequestToEnd(signal)) {
      *interrupted = true;
      kill(pid, SIGKILL);
    }
  }
}

}  // namespace

WorkResult RunWorker(const Signals& signals, const std::function<std::string(WorkProgress*)>& work,
                     const std::function<void(const WorkProgress&)>& tick) {
  const Descriptor output(memfd_create("allomon-names", MFD_CLOEXEC));
  WorkProgress* const progress = SharedProgress();
  if (output.get() < 0 || progress == nullptr) return {false, "", "out of memory"};
  const pid_t pid = fork();
  if (pid == 0) Work(output.get(), work, progress);
  WorkResult result;
  if (pid < 0) {
    result.why = "no process could be started";
  } else {
    bool interrupted = false;
    const ChildChange end = WaitForWorker(
        pid, signals, [&] { tick(*progress); }, &interrupted);
    result.is_done = end.signal == 0 && end.status == 0;
    result.why = interrupted ? "interrupted" : WhyNotDone(end);
    if (result.is_done) result.output = ReadAll(output.get());
  }
  munmap(progress, sizeof *progress);
  return result;
}

namespace {

// While the service manager has no room for a message.
constexpr int kHoldingMilliseconds = 10;

// Stops this process like the child, and continues the child after somebody has continued this
// process.
void StopWith(pid_t pid, int signal) {
  if (StopLike(signal)) kill(pid, SIGCONT);
}

// The first process of a container gets the orphans of all others, and nobody else can take their
// ends.  An end that the desk waits for is left to it.
void ReapOrphans(pid_t own, const ExitDesk* desk) {
  siginfo_t ended = {};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
    if (ended.si_pid == own || (desk != nullptr && desk->IsSearching(ended.si_pid))) return;
    waitpid(ended.si_pid, nullptr, 0);
    ended = {};
  }
}

}  // namespace

ChildChange WaitForChild(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                         NotifyRelay* relay, ExitDesk* desk) {
  int wait_milliseconds = kFirstTickMilliseconds, waited_milliseconds = 0;
  for (;;) {
    const ChildChange change = AskForChild(pid);
    if (relay != nullptr) relay->Forward();
    if (desk != nullptr) desk->Attend();
    ReapOrphans(pid, desk);
    if (change.state == ChildState::kEnded) {
      // The child's last messages may have arrived before its end was seen.
      if (relay != nullptr) relay->ForwardLast();
      return change;
    }
    if (change.state == ChildState::kStopped) StopWith(pid, change.signal);
    const bool is_holding = relay != nullptr && relay->IsHolding();
    const int step_milliseconds = desk != nullptr ? ExitDesk::kMilliseconds
                                  : is_holding    ? kHoldingMilliseconds
                                                  : wait_milliseconds;
    siginfo_t info = {};
    const int signal = signals.Wait(step_milliseconds, &info);
    if (signal == 0) {
      waited_milliseconds += step_milliseconds;
      if (waited_milliseconds < wait_milliseconds) continue;
      waited_milliseconds = 0;
      wait_milliseconds = std::min(2 * wait_milliseconds, kTicksMilliseconds);
      tick();
    } else if (IsToBePassedOn(signal, info)) {
      kill(pid, signal);
    }
    if (desk != nullptr && IsRequestToEnd(signal)) desk->Interrupt();
  }
}

}  // namespace allomon::run
