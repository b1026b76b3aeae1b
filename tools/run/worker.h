// Runs work in a process of its own, which may be interrupted, or fail in any way, without harm.
#ifndef ALLOMON_TOOLS_RUN_WORKER_H_
#define ALLOMON_TOOLS_RUN_WORKER_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "tools/run/child.h"
#include "tools/run/exit_desk.h"
#include "tools/run/notify_relay.h"
#include "tools/run/signals.h"

namespace allomon::run {

// The progress of the work, in memory that both processes share.
struct WorkProgress {
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> all{0};
};

struct WorkResult {
  bool is_done = false;
  std::string output;  // the result of `work`
  std::string why;     // why the work is not done: "interrupted", "ended by signal 11", ...
};

// Runs `work` in a forked child, and `tick` twice a second in this process.  A request to end, or
// Ctrl-C, ends the child.  The child has a copy of all memory.  This process must have one thread
// only.
WorkResult RunWorker(const Signals& signals, const std::function<std::string(WorkProgress*)>& work,
                     const std::function<void(const WorkProgress&)>& tick);

// ---- Waits for the program that `allomon run` has started.

inline constexpr int kTicksMilliseconds = 500;
inline constexpr int kFirstTickMilliseconds = 50;

// Returns when the child has ended; the child's own children may still run.  Passes signals on, and
// stops this process when the child is stopped.  Calls `tick` after 50 ms, then
// more rarely, at last twice a second.  Forwards messages of `relay`, and attends to `desk`, if
// they are not null.
ChildChange WaitForChild(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                         NotifyRelay* relay, ExitDesk* desk);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WORKER_H_
