#include "tools/leaks/stopped_process.h"

#include <dirent.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/status/status.h"

namespace allomon::leaks {
namespace {

#if defined(__aarch64__)
using FloatingRegisters = user_fpsimd_struct;
#else
using FloatingRegisters = user_fpregs_struct;
#endif

// Each round stops the threads that those of the round before have started meanwhile.
constexpr int kMostRounds = 100;
constexpr long kLookNanos = 200'000;
constexpr int kMostLooks = 5000;  // a second, for all threads

// Reads a set of registers.  False if the processor does not have it.
template <typename Registers>
bool Get(pid_t thread, int set, Registers* registers) {
  iovec room = {registers, sizeof(*registers)};
  return ptrace(PTRACE_GETREGSET, thread, set, &room) == 0;
}

template <typename Registers>
void AddWords(const Registers& registers, std::vector<uint64_t>* words) {
  uint64_t word = 0;
  for (size_t at = 0; at + sizeof(word) <= sizeof(registers); at += sizeof(word)) {
    memcpy(&word, reinterpret_cast<const char*>(&registers) + at, sizeof(word));
    words->push_back(word);
  }
}

}  // namespace

std::vector<pid_t> ThreadsOf(uint32_t pid) {
  std::vector<pid_t> threads;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  DIR* const folder = opendir(path.c_str());
  if (folder == nullptr) return threads;
  while (const dirent* const entry = readdir(folder)) {
    const long number = strtol(entry->d_name, nullptr, 10);
    if (number > 0) threads.push_back(static_cast<pid_t>(number));
  }
  closedir(folder);
  return threads;
}

absl::StatusOr<std::unique_ptr<StoppedProcess>> StoppedProcess::Stop(uint32_t pid) {
  std::unique_ptr<StoppedProcess> process(new StoppedProcess(pid));
  bool found = true;
  for (int round = 0; found; ++round) {
    if (round == kMostRounds) {
      return absl::UnavailableError("process " + std::to_string(pid) +
                                    " starts threads faster than they can be stopped");
    }
    const absl::Status status = process->StopNewThreads(&found);
    if (!status.ok()) return status;
  }
  if (process->threads_.empty()) {
    return absl::NotFoundError("there is no process " + std::to_string(pid));
  }
  for (const Stopped& stopped : process->threads_) {
    if (stopped.stands) process->ReadRegisters(stopped.thread);
  }
  return process;
}

absl::StatusOr<std::unique_ptr<StoppedProcess>> StoppedProcess::StopThread(uint32_t pid,
                                                                           pid_t thread) {
  std::unique_ptr<StoppedProcess> process(new StoppedProcess(pid));
  const absl::Status status = process->Seize(thread);
  if (!status.ok()) return status;
  for (Stopped& stopped : process->threads_) process->AwaitStop(&stopped);
  return process;
}

std::vector<pid_t> StoppedProcess::CallableThreads() const {
  std::vector<pid_t> found;
  for (const Stopped& stopped : threads_) {
    if (stopped.stands && stopped.signal == 0) found.push_back(stopped.thread);
  }
  return found;
}

void StoppedProcess::PassOn(pid_t thread, int signal) {
  for (Stopped& stopped : threads_) {
    if (stopped.thread == thread) stopped.signal = signal;
  }
}

absl::Status StoppedProcess::StopNewThreads(bool* found) {
  *found = false;
  const size_t before = threads_.size();
  for (const pid_t thread : ThreadsOf(pid_)) {
    if (!known_.insert(thread).second) continue;
    const absl::Status status = Seize(thread);
    if (!status.ok()) return status;
  }
  // All are asked before the first one is waited for.
  for (size_t i = before; i < threads_.size(); ++i) AwaitStop(&threads_[i]);
  *found = threads_.size() > before;
  return absl::OkStatus();
}

// A thread that has ended meanwhile is left out.
absl::Status StoppedProcess::Seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    if (errno == ESRCH) return absl::OkStatus();
    const std::string process = "process " + std::to_string(pid_);
    if (errno == EPERM) {
      return absl::PermissionDeniedError(
          process +
          " may not be stopped: it is another user's, or is being debugged; ask as root "
          "(kernel.yama.ptrace_scope is 0 where users may ask for their own)");
    }
    return absl::UnavailableError(process + " cannot be stopped: " + strerror(errno));
  }
  threads_.push_back({thread, 0, false});
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  return absl::OkStatus();
}

void StoppedProcess::AwaitStop(Stopped* stopped) {
  do {
    int status = 0;
    const pid_t done = waitpid(stopped->thread, &status, __WALL | WNOHANG);
    if (done == stopped->thread && WIFSTOPPED(status)) {
      stopped->stands = true;
      // A signal that has arrived at that moment stops the thread, too, and is still to be handled.
      if (status >> 16 != PTRACE_EVENT_STOP) stopped->signal = WSTOPSIG(status);
      return;
    }
    if (done != 0) return;  // it has ended
    const timespec pause = {0, kLookNanos};
    nanosleep(&pause, nullptr);
  } while (++looks_ < kMostLooks);
  ++sleeping_;
}

void StoppedProcess::ReadRegisters(pid_t thread) {
  user_regs_struct general = {};
  if (!Get(thread, NT_PRSTATUS, &general)) return;
  AddWords(general, &registers_);
#if defined(__x86_64__)
  stack_pointers_.push_back(general.rsp);
  thread_pointers_.push_back(general.fs_base);
#else
  stack_pointers_.push_back(general.sp);
#endif
  FloatingRegisters floating = {};
  if (Get(thread, NT_PRFPREG, &floating)) AddWords(floating, &registers_);
}

StoppedProcess::~StoppedProcess() {
  for (const Stopped& stopped : threads_) {
    ptrace(PTRACE_DETACH, stopped.thread, nullptr,
           reinterpret_cast<void*>(static_cast<intptr_t>(stopped.signal)));
  }
}

}  // namespace allomon::leaks
