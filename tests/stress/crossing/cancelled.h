// Two dozen threads that somebody has cancelled: each is cancelled before its work begins, holds a
// mutex of the host's while it works, and heeds the cancellation when it has let it go.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_
#define ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_

namespace crossing {

constexpr int kCancelledThreads = 24;

struct CancelledWork {
  const char* name;
  void (*prepare)(int thread);  // before the thread is cancelled; may be null
  bool (*run)(int thread);      // whether it did what it is for
};

struct CancelledCounts {
  int came_to_the_end = 0;  // of `run`, with the mutex
  int succeeded = 0;        // of these, by what `run` answered
  int ended_where_asked = 0;
  int mutexes_let_go = 0;
};

// Has the threads do it all at once, and waits for their ends.
CancelledCounts RunCancelled(const CancelledWork& work);

// The same, and prints a line: "malloc: 24 came to the end, ...".
void RunCancelledAndSay(const CancelledWork& work);

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_CANCELLED_H_
