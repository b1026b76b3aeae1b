#include "tools/run/watch.h"

#include <signal.h>

namespace allomon::run {
namespace {

// Stops this process like the child, and continues the child after somebody has continued this
// process.
void StopWith(pid_t pid, int signal) {
  if (StopLike(signal)) kill(pid, SIGCONT);
}

}  // namespace

ChildChange WaitForChild(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                         NotifyRelay* relay) {
  for (;;) {
    const ChildChange change = AskForChild(pid);
    // Forwards after asking for the child's state, so that the child's last messages are sent on.
    if (relay != nullptr) relay->Forward();
    if (change.state == ChildState::kEnded) return change;
    if (change.state == ChildState::kStopped) StopWith(pid, change.signal);
    siginfo_t info = {};
    const int signal = signals.Wait(tick ? kTicksMilliseconds : -1, &info);
    if (signal == 0) {
      tick();
    } else if (IsToBePassedOn(signal, info)) {
      kill(pid, signal);
    }
  }
}

}  // namespace allomon::run
