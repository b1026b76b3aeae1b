#include "tests/stress/crossing/cancelled.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "tests/stress/crossing/column.h"

namespace crossing {
namespace {

struct Thread {
  const CancelledWork* work;
  int number;
  pthread_mutex_t mutex;
  pthread_t thread;
  bool came_to_the_end;
  bool succeeded;
};

// Barriers of all threads and the main thread; waiting at them is no cancellation point.
pthread_barrier_t g_all_are_ready;
pthread_barrier_t g_all_are_cancelled;

void Await(pthread_barrier_t* barrier) {
  const Waiting waiting;
  pthread_barrier_wait(barrier);
}

// During a fork of the host, all other threads wait for the locks held around it longer than any of
// them spins, because this handler sleeps.  It is installed before main and before any library's
// constructor, so that it runs after the others' handlers.  The system call is direct, and so no
// cancellation point; the forking thread is not cancelled.
std::atomic<bool> g_dawdles{false};

void Dawdle() {
  if (!g_dawdles) return;
  constexpr timespec kLong = {0, 80'000'000};
  syscall(SYS_nanosleep, &kLong, nullptr);
}

void InstallForkHandler(int, char**, char**) { pthread_atfork(Dawdle, nullptr, nullptr); }
__attribute__((section(".preinit_array"), used)) void (*g_before_all)(int, char**,
                                                                      char**) = InstallForkHandler;

void* ForkSlowly(void*) {
  const pid_t child = fork();
  if (child == 0) syscall(SYS_exit_group, 0);
  if (child > 0) waitpid(child, nullptr, 0);
  return nullptr;
}

// Unlocks the mutex explicitly: a thread that ends inside, as one in C would, leaves it locked.
void* WorkWhileCancelled(void* of) {
  Thread& me = *static_cast<Thread*>(of);
  const OnThread here;
  if (me.work->prepare != nullptr) me.work->prepare(me.number);
  pthread_mutex_lock(&me.mutex);
  Await(&g_all_are_ready);
  Await(&g_all_are_cancelled);
  me.succeeded = me.work->run(me.number);
  me.came_to_the_end = true;
  pthread_mutex_unlock(&me.mutex);
  for (;;) pthread_testcancel();
}

void Start(Thread& thread, const CancelledWork& work, int number) {
  thread.work = &work;
  thread.number = number;
  pthread_mutex_init(&thread.mutex, nullptr);
  if (pthread_create(&thread.thread, nullptr, WorkWhileCancelled, &thread) != 0) abort();
}

}  // namespace

CancelledCounts RunCancelled(const CancelledWork& work) {
  static Thread threads[kCancelledThreads];
  pthread_barrier_init(&g_all_are_ready, nullptr, kCancelledThreads + 1);
  pthread_barrier_init(&g_all_are_cancelled, nullptr, kCancelledThreads + 1);
  for (int i = 0; i < kCancelledThreads; ++i) {
    threads[i] = {};
    Start(threads[i], work, i);
  }
  Await(&g_all_are_ready);
  for (const Thread& thread : threads) pthread_cancel(thread.thread);
  g_dawdles = true;
  pthread_t forks;
  if (pthread_create(&forks, nullptr, ForkSlowly, nullptr) != 0) abort();
  Await(&g_all_are_cancelled);
  const Waiting waiting;
  pthread_join(forks, nullptr);
  g_dawdles = false;
  CancelledCounts counts;
  for (Thread& thread : threads) {
    void* result = nullptr;
    pthread_join(thread.thread, &result);
    counts.came_to_the_end += thread.came_to_the_end ? 1 : 0;
    counts.succeeded += thread.succeeded ? 1 : 0;
    counts.ended_where_asked += result == PTHREAD_CANCELED ? 1 : 0;
    counts.mutexes_let_go += pthread_mutex_trylock(&thread.mutex) == 0 ? 1 : 0;
  }
  return counts;
}

void RunCancelledAndSay(const CancelledWork& work) {
  const CancelledCounts counts = RunCancelled(work);
  printf("%s: %d came to the end, %d succeeded, %d ended where asked, %d mutexes let go\n",
         work.name, counts.came_to_the_end, counts.succeeded, counts.ended_where_asked,
         counts.mutexes_let_go);
}

}  // namespace crossing
