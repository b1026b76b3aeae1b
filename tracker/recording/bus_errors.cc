#include "tracker/recording/bus_errors.h"

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "tracker/base/errno_keeper.h"
#include "tracker/base/page_size.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::recording {
namespace {

struct Watched {
  std::atomic<uintptr_t> begin{0};  // 0: none
  std::atomic<uintptr_t> size_bytes{0};
  std::atomic<bool> had_error{false};

  bool Contains(uintptr_t address) const {
    const uintptr_t from = begin.load(std::memory_order_acquire);
    return from != 0 && address - from < size_bytes.load(std::memory_order_relaxed);
  }
};
Watched g_watched[kMostWatched];

struct sigaction g_before = {};
bool g_installed = false;

Watched* Find(const char* begin) {
  for (Watched& watched : g_watched) {
    if (watched.begin.load(std::memory_order_relaxed) == reinterpret_cast<uintptr_t>(begin)) {
      return &watched;
    }
  }
  return nullptr;
}

bool PutPage(uintptr_t address) {
  const uintptr_t page_bytes = internal::PageBytes();
  void* const page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
  return internal::sys::Mmap(page, page_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

bool Mend(const siginfo_t& info) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(info.si_addr);
  for (Watched& watched : g_watched) {
    if (info.si_code <= 0 || !watched.Contains(address)) continue;
    watched.had_error.store(true, std::memory_order_relaxed);
    return PutPage(address);
  }
  return false;
}

// A fault is raised again when the handler returns. A signal that was sent must be raised once
// more.
void LeaveToSystem(int signal, const siginfo_t& info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (info.si_code <= 0) raise(signal);
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  {
    const ErrnoKeeper keeper;
    if (Mend(*info)) return;
  }
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(signal, info, context);
  if (g_before.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (g_before.sa_handler == SIG_DFL || g_before.sa_handler == SIG_IGN) {
    return LeaveToSystem(signal, *info);
  }
  g_before.sa_handler(signal);
}

void InstallOnce() {
  if (g_installed) return;
  g_installed = true;
  if (sigaction(SIGBUS, nullptr, &g_before) != 0) return;
  struct sigaction ours = {};
  ours.sa_sigaction = OnBusError;
  ours.sa_mask = g_before.sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (g_before.sa_flags & (SA_NODEFER | SA_RESTART));
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

const std::atomic<bool>* WatchBusErrors(const char* begin, size_t size_bytes) {
  static const std::atomic<bool> never{false};
  InstallOnce();
  Watched* const watched = Find(nullptr);
  if (watched == nullptr) return &never;
  watched->had_error.store(false, std::memory_order_relaxed);
  watched->size_bytes.store(size_bytes, std::memory_order_relaxed);
  watched->begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_release);
  return &watched->had_error;
}

void UnwatchBusErrors(const char* begin) {
  if (Watched* const watched = Find(begin)) watched->begin.store(0, std::memory_order_release);
}

bool HadBusError(const char* begin) {
  const Watched* const watched = Find(begin);
  return watched != nullptr && watched->had_error.load(std::memory_order_relaxed);
}

bool IsBusErrorHandlerInFront() {
  struct sigaction now = {};
  return g_installed && sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == OnBusError;
}

}  // namespace allomon::recording
