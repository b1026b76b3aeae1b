#include "tools/run/watch.h"

#include <signal.h>

namespace allomon::run {
namespace {

// When somebody has continued this process, the child goes on, too.
void StopWith(pid_t pid, int signal) {
  if (StopLike(signal)) kill(pid, SIGCONT);
}

}  // namespace

ChildChange WaitForChild(pid_t pid, const Signals& signals, const std::function<void()>& tick,
                         NotifyRelay* relay) {
  for (;;) {
    const ChildChange change = AskForChild(pid);
    // After the look at the child, so that its last words before it ended are sent on.
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
