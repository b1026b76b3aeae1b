#include "tracker/profile/sources/shared_signal.h"

#include <atomic>

namespace allomon::internal {
namespace {

using Handler = void (*)(int, siginfo_t*, void*);

std::atomic<int> g_shared_signal{0};
struct sigaction g_host_action = {};
// The handler of the host's action; null for SIG_DFL and SIG_IGN. Kept in a word of its own, since
// a signal may arrive while the action is copied.
std::atomic<Handler> g_host_handler{nullptr};

// A handler of one parameter does not look at the other two, which are in registers.
Handler HandlerOf(const struct sigaction& action) {
  const bool none = action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
  return none ? nullptr : action.sa_sigaction;
}

}  // namespace

void ShareSignal(int signal) { g_shared_signal.store(signal, std::memory_order_relaxed); }

bool IsSharedSignal(int signal) {
  return signal != 0 && signal == g_shared_signal.load(std::memory_order_relaxed);
}

void SetHostAction(const struct sigaction* action, struct sigaction* former) {
  const struct sigaction before = g_host_action;
  if (action != nullptr) {
    g_host_action = *action;
    g_host_handler.store(HandlerOf(*action), std::memory_order_relaxed);
  }
  if (former != nullptr) *former = before;
}

void CallHostHandler(int signal, siginfo_t* info, void* context) {
  const Handler handler = g_host_handler.load(std::memory_order_relaxed);
  if (handler != nullptr) handler(signal, info, context);
}

}  // namespace allomon::internal
