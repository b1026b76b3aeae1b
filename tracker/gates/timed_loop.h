// Whether a timed loop of Google Benchmark is running, known from the functions of benchmark::State
// that the linker wraps: timed_loop.cc.
#ifndef ALLOMON_TRACKER_GATES_TIMED_LOOP_H_
#define ALLOMON_TRACKER_GATES_TIMED_LOOP_H_

#include <atomic>
#include <cstdint>

namespace allomon::internal {

struct TimedLoop {
  std::atomic<bool> running{false};
  std::atomic<uint64_t> begun{0};  // number of loops begun in this process
};

// The loop of the thread that runs the memory pass; loops of other threads do not run meanwhile.
TimedLoop& CurrentTimedLoop();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_TIMED_LOOP_H_
