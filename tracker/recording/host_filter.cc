#include "tracker/recording/host_filter.h"

#include <sys/prctl.h>

namespace allomon::recording {

std::atomic<void (*)()> host_filter_hook{nullptr};

namespace {
std::atomic<bool> has_filter{false};
}  // namespace

bool HasFilter() { return has_filter.load(std::memory_order_relaxed); }

void NoteFilter(int option) {
  if (option != PR_SET_NO_NEW_PRIVS && option != PR_SET_SECCOMP) return;
  has_filter.store(true, std::memory_order_relaxed);
  void (*const hook)() = host_filter_hook.load(std::memory_order_acquire);
  if (hook != nullptr) hook();
}

}  // namespace allomon::recording
