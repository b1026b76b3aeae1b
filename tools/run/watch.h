// Waits for the program that `allomon run` has started.
#ifndef ALLOMON_TOOLS_RUN_WATCH_H_
#define ALLOMON_TOOLS_RUN_WATCH_H_

#include <sys/types.h>

#include <functional>

#include "tools/run/child.h"
#include "tools/run/notify_relay.h"
#include "tools/run/signals.h"

namespace allomon::run {

inline constexpr int kTicksMilliseconds = 500;

// Returns when the child has ended; the child's own children may still run.  Passes signals on, and
// stops this process when the child is stopped.  Calls `tick`, if there is one, twice a second.
// Forwards messages of `relay`, if that is not null.
ChildChange WaitForChild(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                         NotifyRelay* relay);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_WATCH_H_
