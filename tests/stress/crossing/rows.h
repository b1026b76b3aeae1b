// The rows of the table: actions of a host at which profilers are known to fail.  Each prints its
// results, which are the same in every run.  And the work of their threads.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_
#define ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "tests/stress/crossing/column.h"

namespace crossing {

// The arguments after the row's name.  Each row returns the host's exit status.
using Arguments = char**;

int Fork(Arguments);
int Unload(Arguments);  // the paths of two plugins
int KeyDestructors(Arguments);
int ThreadExit(Arguments);
int AsynchronousCancel(Arguments);
int LastThread(Arguments);  // main ends by pthread_exit, and another thread calls exit
int Signals(Arguments);
int Seccomp(Arguments);  // "open" refuses openat too
int LimitLater(Arguments);
int LimitBefore(Arguments);  // the parent that started the host has set the limit
int Exec(Arguments);         // the host's own path, and the remaining number of execs

// Two dozen cancelled threads (cancelled.h).
int Cancelled(Arguments);  // malloc, free, calloc, realloc or new
int CancelledUntilSaved(Arguments);
int CancelledUntilTold(Arguments);
int CancelledEnd(Arguments);  // exit, quick_exit or _exit

// ---- The work of the threads

// The number of calls of Counted() in this process, which a profile of counts must report.
extern std::atomic<uint64_t> counted;

// While it is set, the thread may be inside malloc, where its handlers must not allocate.
extern thread_local volatile int in_malloc;

class InMalloc {
 public:
  InMalloc() { in_malloc = in_malloc + 1; }
  ~InMalloc() { in_malloc = in_malloc - 1; }
};

// A function whose calls are all counted.
uint64_t Counted(uint64_t value);

// Calls on several levels, and allocates at the bottom.  The result depends on the seed only.
uint64_t Work(unsigned seed);

// The same with malloc only, for threads that no longer take part in the column.
uint64_t WorkByMalloc(unsigned seed);

// Calls Work() `times` times on a thread that takes part in the column.
uint64_t WorkOnThread(unsigned seed, int times = 20);

// Only makes calls, for some microseconds.
uint64_t Compute(unsigned seed);

// Threads that work until they are told to stop.
class Busy {
 public:
  explicit Busy(int threads);
  ~Busy();

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

// Waits, and says so to the column.
void Join(std::thread& thread);
void Join(std::vector<std::thread>& threads);
int StatusOf(int process);  // 1000 + the signal's number if it was killed

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_
