#include "tracker/profile/termination.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tracker/profile/thread_profile.h"

namespace allomon::internal {
namespace {

sem_t g_terminated;
std::atomic<DataUnit*> g_unit{nullptr};
void (*g_write)(UnitName) = nullptr;
bool g_installed = false;

void OnTermination(int) {
  const int saved_errno = errno;
  g_unit.store(&UnitOf(thread_profile), std::memory_order_relaxed);
  sem_post(&g_terminated);
  errno = saved_errno;
}

void* WaitAndWrite(void*) {
  while (sem_wait(&g_terminated) != 0) {
  }
  const DataUnit* unit = g_unit.load(std::memory_order_relaxed);
  g_write({unit->slot, unit->use});
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
  return nullptr;
}

// With all signals blocked, so that the program's own handlers never run on it.
bool StartWriter() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t writer;
  const bool made = pthread_create(&writer, nullptr, WaitAndWrite, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) pthread_detach(writer);
  return made;
}

}  // namespace

bool WriteOnTermination(void (*write)(UnitName unit)) {
  struct sigaction action = {};
  sigaction(SIGTERM, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) return false;
  UnitOf(thread_profile);  // the default unit is made here, not in the handler
  g_write = write;
  sem_init(&g_terminated, 0, 0);
  if (!StartWriter()) return false;
  action = {};
  action.sa_handler = OnTermination;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  g_installed = sigaction(SIGTERM, &action, nullptr) == 0;
  return g_installed;
}

void ForgetTermination() {
  struct sigaction action = {};
  if (!g_installed || sigaction(SIGTERM, nullptr, &action) != 0) return;
  if (action.sa_handler == OnTermination) signal(SIGTERM, SIG_DFL);
}

}  // namespace allomon::internal
