// Two dozen cancelled threads: each is cancelled before its work begins, holds a mutex of the
// host's while it works, and acts on the cancellation when it has released the mutex.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_
#define ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_

namespace crossing {

constexpr int kCancelledThreads = 24;

struct CancelledWork {
  const char* name;
  void (*prepare)(int thread);  // before the thread is cancelled; may be null
  bool (*run)(int thread);      // returns whether it succeeded
};

struct CancelledCounts {
  int came_to_the_end = 0;  // threads that completed `run` with the mutex
  int succeeded = 0;        // those of them whose `run` succeeded
  int ended_where_asked = 0;
  int mutexes_let_go = 0;
};

// Runs the work on all threads at once, and waits for their ends.
CancelledCounts RunCancelled(const CancelledWork& work);

// Does the same, and prints a line: "malloc: 24 came to the end, ...".
void RunCancelledAndSay(const CancelledWork& work);

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_
