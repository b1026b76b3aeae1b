#include "tools/leaks/frozen_fork.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "tools/leaks/thread_call.h"
#include "tools/process/memory_room.h"

namespace allomon::leaks {
namespace {

void AwaitChange(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrozenFork>> FrozenFork::Make(const explain::Process& process,
                                                             const StoppedProcess& stopped) {
  // Pages that the process writes until its copy is read are there twice, all of them at most.
  if (process::MemoryRoom(process.pid()) < process.TotalResidentBytes()) {
    return absl::ResourceExhaustedError("memory for a fork might be missing");
  }
  const auto maps = process.Maps();
  if (!maps.ok()) return maps.status();
  const process_map::CallStub stub = FindCallStub(process, explain::ParseMappings(*maps));
  // A thread that was borrowed by a program that was killed may not have come out of the stub yet.
  const uint64_t room = reinterpret_cast<uintptr_t>(stub.room);
  const auto& pointers = stopped.stack_pointers();
  if (stopped.sleeping() > 0 ||
      std::any_of(pointers.begin(), pointers.end(), [&](uint64_t pointer) {
        return room <= pointer && pointer < room + stub.room_bytes;
      })) {
    return absl::UnavailableError("a thread of it is in the kernel");
  }
  absl::Status status = absl::UnavailableError("no thread stands");
  constexpr size_t kMostThreads = 16;
  size_t tried = 0;
  for (const pid_t thread : stopped.CallableThreads()) {
    if (++tried > kMostThreads) break;
    std::unique_ptr<FrozenFork> fork(new FrozenFork(process, stub, thread));
    status = fork->Fork();
    if (status.ok()) return fork;
  }
  return status;
}

// Signal handlers are those of a new program in the copy, so a copy that nobody holds ends without
// running any.  A signal of 0 at its end, in place of SIGCHLD, keeps it from the process's waits.
absl::Status FrozenFork::Fork() {
  ThreadCall call(process_, stub_, thread_);
  const absl::Status status = call.Begin(true);
  if (!status.ok()) return status;
  pid_ = call.Fork(CLONE_FILES | CLONE_FS | CLONE_CLEAR_SIGHAND, &pid_inside_);
  if (pid_ == 0) {
    return absl::UnavailableError(std::string("it cannot fork: ") +
                                  strerror(static_cast<int>(-pid_inside_)));
  }
  AwaitChange(pid_);
  ptrace(PTRACE_SETOPTIONS, pid_, nullptr, reinterpret_cast<void*>(PTRACE_O_EXITKILL));
  return absl::OkStatus();
}

// An ended child is kept by the kernel for its parent, which does not know of it.  So a thread of
// the process waits for it, without waiting: it has ended.
void FrozenFork::TakeFromTable() const {
  constexpr int kTries = 50;
  constexpr timespec kPause = {0, 1'000'000};
  for (int i = 0; i < kTries; ++i) {
    const pid_t thread = i % 2 == 0 ? thread_ : static_cast<pid_t>(process_.pid());
    const auto stopped = StoppedProcess::StopThread(process_.pid(), thread);
    if (stopped.ok() && !(*stopped)->CallableThreads().empty()) {
      ThreadCall call(process_, stub_, thread);
      if (call.Begin(false).ok() && call.Wait(pid_inside_)) return;
    }
    if (process_.threads() == 0) return;
    nanosleep(&kPause, nullptr);
  }
}

FrozenFork::~FrozenFork() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  AwaitChange(pid_);
  TakeFromTable();
}

}  // namespace allomon::leaks
