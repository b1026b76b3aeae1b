// Fork with the tracker's locks held: a child has none of its parent's other threads, so it must
// not inherit a lock that one of them held.
#ifndef ALLOMON_TRACKER_CORE_FORK_H_
#define ALLOMON_TRACKER_CORE_FORK_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/spin_lock.h"

namespace allomon::internal {

// Installs the three functions below by pthread_atfork, once for the process.
void InstallForkHandlers();

void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Names a heap's lock that is to be held with the tracker's.  The lock must live for ever.  Call it
// before the first sample; at most kMaxHeapLocks, more are not held.
inline constexpr int kMaxHeapLocks = 6;
void HoldAroundFork(SpinLock* lock);

// How often the memory of this process was copied by a fork to the one that asks.
extern std::atomic<uint64_t> times_forked;
inline uint64_t TimesForked() { return times_forked.load(std::memory_order_relaxed); }
// A number that the other processes of a tree of forks do not have, so that random numbers differ
// between a parent's children; 0 in the first.
extern std::atomic<uint64_t> fork_stream;
inline uint64_t ForkStream() { return fork_stream.load(std::memory_order_relaxed); }
// The process id of a child, without a system call: where no handler has seen the fork, the number
// of the calling thread.
uint32_t OwnProcessIdAfterFork();

// The work around a fork of a module whose locks are taken outside of the tracker's.  `before` runs
// before the tracker takes its own locks, the others when those are free again.  pthread_atfork
// would order them by which was installed first.
struct OuterForkHandlers {
  void (*before)();
  void (*after_in_parent)();
  void (*after_in_child)();
};
// For one caller; from the next fork on.  Installs the tracker's handlers, too.
void SetOuterForkHandlers(const OuterForkHandlers* handlers);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_FORK_H_
