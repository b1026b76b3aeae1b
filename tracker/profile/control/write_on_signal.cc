#include "tracker/profile/control/write_on_signal.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tracker/base/all_signals_blocked.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {
namespace {

struct SignalWriter {
  // This line does not compile unless the object is constant.  The constructor that fills a
  // SignalWriter in may run before dynamic initialisation, which would then empty the object again.
  constexpr SignalWriter() = default;

  int signal = 0;     // 0: not installed
  pid_t process = 0;  // the process whose thread waits
  AfterWriting after = AfterWriting::kGoOn;
  void (*write)(UnitName) = nullptr;
  sem_t arrived = {};
  std::atomic<DataUnit*> unit{nullptr};
};

// Indexed by AfterWriting.
SignalWriter g_writers[2];

void Wake(SignalWriter& writer) {
  writer.unit.store(&UnitOf(thread_profile), std::memory_order_relaxed);
  sem_post(&writer.arrived);
}

// Sends the signal again; it is delivered when the handler returns.
void DieBySignal(int number) {
  signal(number, SIG_DFL);
  kill(getpid(), number);
}

// A child whose writers were not started again has no writer.  That is a child of _Fork or clone,
// or a child that was killed before its fork returned.  (After vfork the memory is the parent's: if
// the child woke the parent's writer, the parent would be killed.)
void OnSignal(int signal) {
  const int saved_errno = errno;
  for (SignalWriter& writer : g_writers) {
    if (writer.signal != signal) continue;
    if (writer.process == getpid()) {
      Wake(writer);
    } else if (writer.after == AfterWriting::kDieBySignal) {
      DieBySignal(signal);
    }
  }
  errno = saved_errno;
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == OnSignal;
}

// Waits for a signal.  All signals that have arrived so far get one file.
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
  DieBySignal(writer.signal);
  return nullptr;
}

// Makes the writer's thread with all signals blocked, so that the program's own handlers never run
// on it.
bool StartThread(SignalWriter& writer) {
  const AllSignalsBlocked blocked;
  sem_init(&writer.arrived, 0, 0);
  writer.process = getpid();
  pthread_t thread;
  const bool made = pthread_create(&thread, nullptr, WaitAndWrite, &writer) == 0;
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

// A signal that kills gets its default action back.  The handler of the other signal stays
// installed and does nothing: a signal that meant "write" must not begin to mean "die".  (SIG_IGN
// would be inherited by the programs that the child executes.)
void Forget(SignalWriter& writer) {
  const int number = writer.signal;
  struct sigaction action = {};
  if (number == 0 || sigaction(number, nullptr, &action) != 0) return;
  if (writer.after == AfterWriting::kDieBySignal && IsOurs(action)) signal(number, SIG_DFL);
  writer.signal = 0;
}

}  // namespace

bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit)) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) != 0) return false;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) return false;
  MakeDefaultUnit();
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
