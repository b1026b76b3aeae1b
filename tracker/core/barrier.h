// A memory barrier that costs its frequent side nothing: the rare side makes all threads execute
// one (membarrier(2)).  See "Threads" in tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_BARRIER_H_
#define ALLOMON_TRACKER_CORE_BARRIER_H_

#include <atomic>

namespace allomon::internal {

// Whether we can make all threads execute a barrier (membarrier), so that they need none of their
// own.
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

// The other side of LightBarrier(): a full barrier here and on every thread.  Cost: a system call,
// microseconds.
void HeavyBarrier();

// HeavyBarrier() without the calling thread's own barrier.
void BarrierOnAllThreads();

// To be called before the first HeavyBarrier() that is relied on.  Idempotent; any thread.
void RegisterForBarriersOnce();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_BARRIER_H_
