#include "tracker/profile/write_on_signal.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tracker/profile/thread_profile.h"

namespace allomon::internal {
namespace {

struct SignalWriter {
  // Does not compile unless it is constant: our constructor that fills one in may run before
  // dynamic initialisation, which would then empty it again.
  constexpr SignalWriter() = default;

  int signal = 0;  // 0: not installed
  AfterWriting after = AfterWriting::kGoOn;
  void (*write)(UnitName) = nullptr;
  sem_t arrived = {};
  std::atomic<DataUnit*> unit{nullptr};
};

// By AfterWriting.
SignalWriter g_writers[2];

void OnSignal(int signal) {
  const int saved_errno = errno;
  for (SignalWriter& writer : g_writers) {
    if (writer.signal != signal) continue;
    writer.unit.store(&UnitOf(thread_profile), std::memory_order_relaxed);
    sem_post(&writer.arrived);
  }
  errno = saved_errno;
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == OnSignal;
}

// One file for all who asked so far.
void AwaitSignal(SignalWriter& writer) {
  while (sem_wait(&writer.arrived) != 0) {
  }
  while (sem_trywait(&writer.arrived) == 0) {
  }
}

void* WaitAndWrite(void* argument) {
  SignalWriter& writer = *static_cast<SignalWriter*>(argument);
  do {
    AwaitSignal(writer);
    const DataUnit* unit = writer.unit.load(std::memory_order_relaxed);
    writer.write({unit->slot, unit->use});
  } while (writer.after == AfterWriting::kGoOn);
  signal(writer.signal, SIG_DFL);
  kill(getpid(), writer.signal);
  return nullptr;
}

// With all signals blocked, so that the program's own handlers never run on it.
bool StartThread(SignalWriter& writer) {
  sem_init(&writer.arrived, 0, 0);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const bool made = pthread_create(&thread, nullptr, WaitAndWrite, &writer) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) pthread_detach(thread);
  return made;
}

bool InstallHandler(SignalWriter& writer, int signal) {
  writer.signal = signal;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, nullptr) == 0) return true;
  writer.signal = 0;
  return false;
}

// A signal that meant "write" must not begin to mean "die".
void Forget(SignalWriter& writer) {
  struct sigaction action = {};
  if (writer.signal == 0 || sigaction(writer.signal, nullptr, &action) != 0) return;
  if (!IsOurs(action)) return;
  signal(writer.signal, writer.after == AfterWriting::kGoOn ? SIG_IGN : SIG_DFL);
  writer.signal = 0;
}

}  // namespace

bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit)) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) != 0) return false;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) return false;
  UnitOf(thread_profile);  // the default unit is made here, not in the handler
  SignalWriter& writer = g_writers[static_cast<int>(after)];
  writer.after = after;
  writer.write = write;
  return StartThread(writer) && InstallHandler(writer, signal);
}

void RestartSignalWriters() {
  for (SignalWriter& writer : g_writers) {
    if (writer.signal != 0 && !StartThread(writer)) Forget(writer);
  }
}

void ForgetSignalWriters() {
  for (SignalWriter& writer : g_writers) Forget(writer);
}

}  // namespace allomon::internal
