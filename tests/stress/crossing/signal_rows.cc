// Handlers that allocate, free and call: for a timer of the host, and for signals that another
// thread sends as fast as it can; on the thread's stack and on alternate ones.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/stress/crossing/rows.h"

namespace crossing {
namespace {

constexpr int kThreads = 2;
constexpr unsigned kTurns = 1500;
constexpr size_t kAlternateBytes = 64 << 10;

// Counts handlers on the thread's stack, on an alternate one, and of SIGPROF.
std::atomic<uint64_t> g_handled[3];
std::atomic<int> g_ready{0};
std::atomic<int> g_finished{0};
std::atomic<bool> g_may_finish{false};
thread_local unsigned t_seed = 0;

// A handler that interrupts malloc must not call malloc.
void Handle(int kind) {
  const int saved_errno = errno;
  Counted(1);
  if (in_malloc == 0) WorkByMalloc(++t_seed);
  ++g_handled[kind];
  errno = saved_errno;
}

void OnThreadsStack(int) { Handle(0); }
void OnAlternateStack(int) { Handle(1); }
void OnTimer(int) { Handle(2); }

sigset_t HostsSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGPROF);
  return set;
}

void Install(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal_number, &action, nullptr);
}

void* WorkUnderSignals(void*) {
  const OnThread here;
  stack_t alternate = {};
  alternate.ss_sp = malloc(kAlternateBytes);
  alternate.ss_size = kAlternateBytes;
  sigaltstack(&alternate, nullptr);
  const sigset_t signals = HostsSignals();
  ++g_ready;
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  uint64_t sum = 0;
  for (unsigned i = 0; i < kTurns; ++i) {
    sum += Work(i);
    sum += Compute(i);
    errno = 77;
    for (int j = 0; j < 3; ++j) sum += Counted(sum);
    if (errno != 77) sum = 0;
  }
  ++g_finished;
  // Works until signals of each kind have come.
  while (!g_may_finish) Work(1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  free(alternate.ss_sp);
  return reinterpret_cast<void*>(sum);
}

bool EachKindHasCome() {
  for (const auto& handled : g_handled) {
    if (handled < 10) return false;
  }
  return true;
}

}  // namespace

int Signals(Arguments) {
  Install(SIGUSR1, OnThreadsStack, SA_RESTART);
  Install(SIGUSR2, OnAlternateStack, SA_RESTART | SA_ONSTACK);
  Install(SIGPROF, OnTimer, SA_RESTART);
  const sigset_t signals = HostsSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, WorkUnderSignals, nullptr) != 0) abort();
  }
  const itimerval period = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &period, nullptr);
  {
    const Waiting waiting;
    while (g_ready < kThreads) usleep(100);
    while (g_finished < kThreads || !EachKindHasCome()) {
      for (const pthread_t thread : threads) {
        pthread_kill(thread, SIGUSR1);
        pthread_kill(thread, SIGUSR2);
      }
      usleep(20);
    }
    g_may_finish = true;
    for (const pthread_t thread : threads) {
      void* sum = nullptr;
      pthread_join(thread, &sum);
      printf("sum %lx\n", reinterpret_cast<uintptr_t>(sum));
    }
  }
  const itimerval none = {};
  setitimer(ITIMER_PROF, &none, nullptr);
  return 0;
}

}  // namespace crossing
