// A process that stands, with the registers of its threads.
#ifndef ALLOMON_TOOLS_LEAKS_STOPPED_PROCESS_H_
#define ALLOMON_TOOLS_LEAKS_STOPPED_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::leaks {

// The ids of a process's threads; empty if it has ended.
std::vector<pid_t> ThreadsOf(uint32_t pid);

// Stops the threads as a debugger does (ptrace(2)), without a signal.  They go on when this is
// destroyed, and if this program is killed.  Call all on one thread.
class StoppedProcess {
 public:
  // Fails with one line if the process may not be stopped: it is another user's, is being debugged,
  // or has ended.
  static absl::StatusOr<std::unique_ptr<StoppedProcess>> Stop(uint32_t pid);
  // Stops one thread; the others run.  Fails likewise.
  static absl::StatusOr<std::unique_ptr<StoppedProcess>> StopThread(uint32_t pid, pid_t thread);
  ~StoppedProcess();
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

  // The words of all registers of all threads: general ones, and those of floating point.
  const std::vector<uint64_t>& registers() const { return registers_; }
  const std::vector<uint64_t>& stack_pointers() const { return stack_pointers_; }
  // Addresses of the threads' control blocks, which the C library keeps; empty where the processor
  // has no register for them.
  const std::vector<uint64_t>& thread_pointers() const { return thread_pointers_; }
  size_t threads() const { return threads_.size(); }
  // Those that stand, and that no signal has stopped on the way: see ThreadCall.
  std::vector<pid_t> CallableThreads() const;
  // A signal that the thread has been given while it stood; it gets it when it goes on.
  void PassOn(pid_t thread, int signal);
  // Threads that did not come to a stop, since they sleep in the kernel: their registers are not
  // known.
  size_t sleeping() const { return sleeping_; }

 private:
  struct Stopped {
    pid_t thread;
    int signal;  // that arrived at the stop, and that is passed on, or 0
    bool stands;
  };

  explicit StoppedProcess(uint32_t pid) : pid_(pid) {}

  absl::Status StopNewThreads(bool* found);
  absl::Status Seize(pid_t thread);
  void AwaitStop(Stopped* stopped);
  void ReadRegisters(pid_t thread);

  const uint32_t pid_;
  std::set<pid_t> known_;
  std::vector<Stopped> threads_;
  std::vector<uint64_t> registers_;
  std::vector<uint64_t> stack_pointers_;
  std::vector<uint64_t> thread_pointers_;
  size_t sleeping_ = 0;
  int looks_ = 0;  // at threads that did not stand yet, each after a pause
};

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_STOPPED_PROCESS_H_
