// Marks the thread as being inside the tracker, for the length of a scope.
#ifndef ALLOMON_TRACKER_CORE_BUSY_MARK_H_
#define ALLOMON_TRACKER_CORE_BUSY_MARK_H_

#include <atomic>

#include "tracker/core/thread_state.h"

namespace allomon::internal {

// While a mark exists, a malloc in a signal handler on this thread is not sampled, and the tick of
// a time profile charges nothing (see inv.busy in tracker/README.md).  Marks nest.
class BusyMark {
 public:
  BusyMark() : thread_(CurrentThread()), was_busy_(thread_.busy) {
    thread_.busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~BusyMark() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_.busy = was_busy_;
  }
  BusyMark(const BusyMark&) = delete;
  BusyMark& operator=(const BusyMark&) = delete;

 private:
  ThreadState& thread_;
  const bool was_busy_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_BUSY_MARK_H_
