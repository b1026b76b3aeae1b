// Activities of a host of the crossings in addition to its row: the host's own way to allocate, and
// the trackers that the host itself starts.  Each host links one implementation.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_COLUMN_H_
#define ALLOMON_TESTS_STRESS_CROSSING_COLUMN_H_

#include <cstdint>

namespace crossing {

// Called on the main thread before and after the row.  FinishColumn returns an error text, or null.
void StartColumn();
const char* FinishColumn();

// Allocates and frees blocks of many sizes.  The result depends on the seed only.
uint64_t Allocate(unsigned seed);

// Exists around all uses of Allocate() by a thread.
class OnThread {
 public:
  OnThread();
  ~OnThread();
  OnThread(const OnThread&) = delete;
  OnThread& operator=(const OnThread&) = delete;
};

// Exists while the thread waits for another one, or for a process.
class Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

// Allocates by malloc, for a thread that has ended its OnThread, such as one in the destructors of
// its keys.
uint64_t AllocateByMalloc(unsigned seed);

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_COLUMN_H_
