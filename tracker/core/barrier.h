// A memory barrier that costs its frequent side nothing: the rare side makes all threads execute
// one (membarrier(2)).  See "Threads" in tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_BARRIER_H_
#define ALLOMON_TRACKER_CORE_BARRIER_H_

#include <atomic>

namespace allomon::internal {

// Whether membarrier() can make all threads execute a barrier, so that they need no barriers of
// their own.
extern std::atomic<bool> has_asymmetric_barrier;

// Orders this thread's stores before its later loads, as seen by a thread that executes a
// HeavyBarrier() between a store and a load of its own.
inline void LightBarrier() {
  if (has_asymmetric_barrier.load(std::memory_order_relaxed)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// The partner of LightBarrier(): a full barrier here and on every thread.  Cost: a system call,
// microseconds.
void HeavyBarrier();

// HeavyBarrier() without the calling thread's own barrier.
void BarrierOnAllThreads();

// Prepares HeavyBarrier().  Callers call it before the first HeavyBarrier() that they rely on.
// Idempotent; any thread.
void RegisterForBarriersOnce();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_BARRIER_H_
