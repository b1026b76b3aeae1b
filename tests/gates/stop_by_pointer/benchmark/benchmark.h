// The part of Google Benchmark that BenchmarkMemoryManager uses, in the shape of 1.7.
#ifndef ALLOMON_TESTS_GATES_STOP_BY_POINTER_BENCHMARK_BENCHMARK_H_
#define ALLOMON_TESTS_GATES_STOP_BY_POINTER_BENCHMARK_BENCHMARK_H_

#include <cstdint>

namespace benchmark {

class State {
 public:
  void StartKeepRunning();
  void FinishKeepRunning();
  void PauseTiming();
  void ResumeTiming();
};

class MemoryManager {
 public:
  struct Result {
    int64_t num_allocs = 0;
    int64_t max_bytes_used = 0;
    int64_t total_allocated_bytes = 0;
    int64_t net_heap_growth = 0;
  };
  virtual ~MemoryManager() = default;
  virtual void Start() = 0;
  [[deprecated("Use Stop(Result&) instead")]] virtual void Stop(Result* result) = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  virtual void Stop(Result& result) { Stop(&result); }
#pragma GCC diagnostic pop
};

// Registers the manager with the stub library; a test requests figures from it as the library
// would.
void RegisterMemoryManager(MemoryManager* manager);
MemoryManager* RegisteredManager();

}  // namespace benchmark

#endif  // ALLOMON_TESTS_GATES_STOP_BY_POINTER_BENCHMARK_BENCHMARK_H_
