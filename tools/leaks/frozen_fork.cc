#include "tools/leaks/frozen_fork.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/leaks/thread_call.h"
#include "tools/process/memory_room.h"

namespace allomon::leaks {
namespace {

// Whether the kernel promises no more memory than there is (vm.overcommit_memory 2): the copy takes
// as much of that as the process.
bool IsMemoryPromised() {
  int mode = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode == 2;
}

// Whether a file is open for direct transfers (O_DIRECT) where a fork may part them from their
// memory: kernels before 6.5 copy pages of a transfer that runs.
bool HasDirectFiles(uint32_t pid) {
  utsname machine = {};
  int major = 0, minor = 0;
  if (uname(&machine) != 0 || sscanf(machine.release, "%d.%d", &major, &minor) != 2) return true;
  if (major > 6 || (major == 6 && minor >= 5)) return false;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fdinfo/";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (open == nullptr) return true;
  while (const dirent* const entry = readdir(open.get())) {
    std::ifstream file(folder + entry->d_name);
    std::string key;
    unsigned flags = 0;
    while (file >> key && key != "flags:") {
    }
    if (file >> std::oct >> flags && (flags & O_DIRECT) != 0) return true;
  }
  return false;
}

void AwaitChange(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrozenFork>> FrozenFork::Make(const explain::Process& process,
                                                             StoppedProcess* stopped) {
  // Pages that the process writes until its copy is read are there twice, all of them at most.
  const uint64_t resident_bytes = process.TotalResidentBytes();
  if (std::min(process::MemoryRoom(process.pid()), process::MachineRoom()) < resident_bytes ||
      IsMemoryPromised()) {
    return absl::ResourceExhaustedError("memory for a fork might be missing");
  }
  if (HasDirectFiles(process.pid())) {
    return absl::FailedPreconditionError(
        "it has files open for direct transfers, which this kernel may cut by a fork (open(2))");
  }
  const auto maps = process.Maps();
  if (!maps.ok()) return maps.status();
  const process_map::CallStub stub = FindCallStub(process, explain::ParseMappings(*maps));
  // A thread that was borrowed by a program that was killed may not have come out of the stub yet.
  const uint64_t room = reinterpret_cast<uintptr_t>(stub.room);
  const auto& pointers = stopped->stack_pointers();
  if (stopped->sleeping() > 0 ||
      std::any_of(pointers.begin(), pointers.end(), [&](uint64_t pointer) {
        return room <= pointer && pointer < room + stub.room_bytes;
      })) {
    return absl::UnavailableError("a thread of it is in the kernel");
  }
  absl::Status status = absl::UnavailableError("no thread stands");
  constexpr size_t kMostThreads = 16;
  size_t tried = 0;
  for (const pid_t thread : stopped->CallableThreads()) {
    if (++tried > kMostThreads) break;
    std::unique_ptr<FrozenFork> fork(new FrozenFork(process, stub, thread));
    status = fork->Fork(stopped);
    if (status.ok()) return fork;
  }
  return status;
}

// Signal handlers are those of a new program in the copy, so a copy that nobody holds ends without
// running any.  A signal of 0 at its end, in place of SIGCHLD, keeps it from the process's waits.
absl::Status FrozenFork::Fork(StoppedProcess* stopped) {
  ThreadCall call(process_, stub_, thread_);
  const absl::Status status = call.Begin(true);
  if (!status.ok()) return status;
  pid_ = call.Fork(CLONE_FILES | CLONE_CLEAR_SIGHAND, &pid_inside_);
  if (call.signal() != 0) stopped->PassOn(thread_, call.signal());
  if (pid_ == 0) {
    return absl::UnavailableError(std::string("it cannot fork: ") +
                                  strerror(static_cast<int>(-pid_inside_)));
  }
  AwaitChange(pid_);
  ptrace(PTRACE_SETOPTIONS, pid_, nullptr, reinterpret_cast<void*>(PTRACE_O_EXITKILL));
  CloseFilesOfChild(pid_, stub_);
  return absl::OkStatus();
}

// An ended child is kept by the kernel for its parent, which does not know of it.  So a thread of
// the process waits for it, without waiting: it has ended.
void FrozenFork::TakeFromTable() const {
  constexpr int kTries = 1000;
  constexpr timespec kPause = {0, 2'000'000};
  for (int i = 0; i < kTries; ++i) {
    const std::vector<pid_t> threads = ThreadsOf(process_.pid());
    if (threads.empty()) return;
    const pid_t thread = threads[static_cast<size_t>(i) % threads.size()];
    const auto stopped = StoppedProcess::StopThread(process_.pid(), thread);
    if (stopped.ok() && !(*stopped)->CallableThreads().empty()) {
      ThreadCall call(process_, stub_, thread);
      const bool is_taken = call.Begin(false).ok() && call.Wait(pid_inside_);
      if (call.signal() != 0) (*stopped)->PassOn(thread, call.signal());
      if (is_taken) return;
    }
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
