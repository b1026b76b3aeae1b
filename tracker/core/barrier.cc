#include "tracker/core/barrier.h"

#include <linux/membarrier.h>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

std::atomic<bool> has_asymmetric_barrier{false};

namespace {

long MemBarrier(int command) { return sys::SystemCall(SYS_membarrier, command, 0, 0); }

}  // namespace

// Makes every running thread of the process execute a full barrier, between two of its
// instructions.  If the system call is not available (old kernels, seccomp), yielding a few times
// is the next best: a wake-up is then lost only if a thread is stopped inside one instruction for
// that long.
void BarrierOnAllThreads() {
  if (has_asymmetric_barrier.load(std::memory_order_relaxed)) {
    if (MemBarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
    // The host has installed a filter since.  From now on threads execute fences of their own.
    // Stores that they made before are out of their store buffers after the yields below.
    has_asymmetric_barrier.store(false, std::memory_order_relaxed);
  }
  for (int i = 0; i < 8; ++i) sys::SchedYield();
}

// Called before the first epoch that threads must notice.  The mark is stored only once: a later
// call must not undo that the system call was refused since.
void RegisterForBarriersOnce() {
  static const bool registered = [] {
    const bool accepted = MemBarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    has_asymmetric_barrier.store(accepted, std::memory_order_relaxed);
    return accepted;
  }();
  static_cast<void>(registered);
}

void HeavyBarrier() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  BarrierOnAllThreads();
}

}  // namespace allomon::internal
