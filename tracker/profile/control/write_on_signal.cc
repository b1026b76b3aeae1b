#include "tracker/profile/control/write_on_signal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tracker/base/errno_keeper.h"
#include "tracker/core/thread_state.h"
#include "tracker/profile/control/dormant_thread.h"
#include "tracker/profile/record/thread_profile.h"

// The C library's sigaction(), by the name that no host replaces.
extern "C" int __sigaction(int signal, const struct sigaction* action,
                           struct sigaction* old) noexcept;

namespace allomon::internal {
namespace {

struct SignalWriter {
  // This line does not compile unless the object is constant.  The constructor that fills in a
  // SignalWriter may run before dynamic initialisation, which would then empty the object again.
  constexpr SignalWriter() = default;

  int signal = 0;  // 0: not installed
  AfterWriting after = AfterWriting::kGoOn;
  void (*write)(UnitName) = nullptr;
  std::atomic<bool> asked{false};
  std::atomic<DataUnit*> unit{nullptr};
};

SignalWriter g_writers[kMostSignals];
DormantThread g_thread;
pid_t g_process = 0;  // process of g_thread; 0: no thread

// The maximum time that a thread being killed waits for the file.  It may hold a lock that the
// writer needs, and must go on then to release it.
constexpr uint32_t kMostWaitMs = 1000;

void (*g_tell_taken)() = nullptr;

SignalWriter* WriterOf(int signal) {
  if (signal == 0) return nullptr;
  for (SignalWriter& writer : g_writers) {
    if (writer.signal == signal) return &writer;
  }
  return nullptr;
}

// Sends the signal again; it is delivered when the handler returns.
void DieBySignal(int number) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  __sigaction(number, &standard, nullptr);
  kill(getpid(), number);
}

// Whether the thread was interrupted in a place where it may hold a lock that the writer needs.
bool IsInsideProfiler() { return CurrentThread().busy || thread_profile.busy; }

// Wakes the writer, and keeps a program that is being killed from running on while the file is
// written, if possible.
void Wake(SignalWriter& writer) {
  writer.unit.store(&UnitOf(thread_profile), std::memory_order_relaxed);
  writer.asked.store(true);
  const bool awake = g_thread.Wake();
  if (writer.after == AfterWriting::kGoOn) return;
  if (!awake) return DieBySignal(writer.signal);
  if (!IsInsideProfiler()) g_thread.AwaitSleep(kMostWaitMs);
}

// A child whose writers were not restarted has no writer.  That is a child of _Fork or clone, or
// one that was killed before its fork returned.  (After vfork the memory is the parent's: if the
// child woke the parent's writer, the parent would be killed.)
void OnSignal(int signal) {
  const ErrnoKeeper keeper;
  SignalWriter* const writer = WriterOf(signal);
  if (writer == nullptr) return;
  if (g_process == getpid()) {
    Wake(*writer);
  } else if (writer->after == AfterWriting::kDieBySignal) {
    DieBySignal(signal);
  }
}

bool IsPlain(const struct sigaction& action, void (*handler)(int)) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}
bool IsOurs(const struct sigaction& action) { return IsPlain(action, OnSignal); }

// Runs on the writer's thread.  A signal during the writing wakes it once more.
void WriteWhatWasAsked() {
  for (SignalWriter& writer : g_writers) {
    if (!writer.asked.exchange(false)) continue;
    const DataUnit* unit = writer.unit.load(std::memory_order_relaxed);
    writer.write({unit->slot, unit->use});
    if (writer.after == AfterWriting::kDieBySignal) DieBySignal(writer.signal);
  }
}

bool MakeThread() {
  g_process = g_thread.Make(WriteWhatWasAsked) ? getpid() : 0;
  return g_process != 0;
}

struct sigaction OurAction() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  return action;
}

bool InstallHandler(SignalWriter& writer, int signal) {
  writer.signal = signal;
  const struct sigaction action = OurAction();
  if (__sigaction(signal, &action, nullptr) == 0) return true;
  writer.signal = 0;
  return false;
}

// A signal that kills gets its default action back.  The handler of the other signal stays
// installed and does nothing: a signal that meant "write" must not begin to mean "die".  (SIG_IGN
// would be inherited by the programs that the child executes.)
void Forget(SignalWriter& writer) {
  const int number = writer.signal;
  struct sigaction action = {};
  if (number == 0 || __sigaction(number, nullptr, &action) != 0) return;
  if (writer.after == AfterWriting::kDieBySignal && IsOurs(action)) {
    action = {};
    action.sa_handler = SIG_DFL;
    __sigaction(number, &action, nullptr);
  }
  writer.signal = 0;
}

SignalWriter* FreeWriter() {
  for (SignalWriter& writer : g_writers) {
    if (writer.signal == 0) return &writer;
  }
  return nullptr;
}

}  // namespace

bool WriteOnSignal(int signal, AfterWriting after, void (*write)(UnitName unit)) {
  struct sigaction action = {};
  SignalWriter* const writer = FreeWriter();
  if (writer == nullptr || __sigaction(signal, nullptr, &action) != 0) return false;
  if (!IsPlain(action, SIG_DFL)) return false;
  MakeDefaultUnit();
  writer->after = after;
  writer->write = write;
  return (g_process != 0 || MakeThread()) && InstallHandler(*writer, signal);
}

void RestartSignalWriters() {
  if (g_process == 0) return;
  if (g_thread.Survived()) {
    g_process = getpid();
    return;
  }
  for (SignalWriter& writer : g_writers) writer.asked.store(false);
  if (!MakeThread()) ForgetSignalWriters();
}

void ForgetSignalWriters() {
  g_process = 0;
  for (SignalWriter& writer : g_writers) Forget(writer);
}

bool IsWatched(int signal) { return WriterOf(signal) != nullptr && g_process == getpid(); }

void TellWhenTaken(void (*tell)()) { g_tell_taken = tell; }

int SigactionOfHost(int signal, const struct sigaction* action, struct sigaction* old,
                    Sigaction next) {
  if (!IsWatched(signal)) return next(signal, action, old);
  const bool wants_default = action != nullptr && IsPlain(*action, SIG_DFL);
  const struct sigaction ours = OurAction();
  struct sigaction was = {};
  const int result = next(signal, wants_default ? &ours : action, &was);
  if (result != 0) return result;
  const bool was_ours = IsOurs(was);
  if (was_ours) was = {};
  if (old != nullptr) *old = was;
  const bool taken = was_ours && action != nullptr && !wants_default &&
                     WriterOf(signal)->after == AfterWriting::kGoOn;
  if (taken && g_tell_taken != nullptr) g_tell_taken();
  return 0;
}

}  // namespace allomon::internal
