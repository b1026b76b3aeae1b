// A copy of a stopped process that the kernel makes by fork, and that never runs.
#ifndef ALLOMON_TOOLS_LEAKS_FROZEN_FORK_H_
#define ALLOMON_TOOLS_LEAKS_FROZEN_FORK_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/leaks/stopped_process.h"
#include "tracker/formats/process_map.h"

namespace allomon::leaks {

// Its memory is that of the process when it was made, so the process may go on while the copy is
// read.  Pages are copied by the kernel when the process writes them meanwhile.
//
// The process sees little of it: it is told of no child, waitpid(2) finds it only with __WALL or
// __WCLONE, and it holds no files open, from Linux 5.9 on; before, those of a process that ends or
// executes another program stay open until the copy ends.  The process's peak of children's
// resident memory (getrusage(2)) may grow.  If this program is killed, or the process executes
// another program meanwhile, the copy ends, and stays an entry in the table of processes until the
// process ends.
//
// Call all on the thread that stopped the process.
class FrozenFork {
 public:
  // Makes one while the process stands.  Fails with a reason, and changes nothing then: see
  // ThreadCall; or there may not be room for pages that it writes meanwhile, in the machine or
  // below a limit of its cgroup.
  static absl::StatusOr<std::unique_ptr<FrozenFork>> Make(const explain::Process& process,
                                                          StoppedProcess* stopped);
  // Ends the copy.  The process may run: a thread of it is stopped for some 0.1 ms to take the
  // entry from the table of processes.
  ~FrozenFork();
  FrozenFork(const FrozenFork&) = delete;
  FrozenFork& operator=(const FrozenFork&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  FrozenFork(const explain::Process& process, const process_map::CallStub& stub, pid_t thread)
      : process_(process), stub_(stub), thread_(thread) {}

  absl::Status Fork(StoppedProcess* stopped);
  void TakeFromTable() const;

  const explain::Process& process_;
  const process_map::CallStub stub_;
  const pid_t thread_;  // of the process; it has made the call
  pid_t pid_ = 0;
  int64_t pid_inside_ = 0;  // as the process knows it
};

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_FROZEN_FORK_H_
