// Holds the tracker's locks around fork: a child has only the forking thread, so it must not
// inherit a lock that another thread held.
#ifndef ALLOMON_TRACKER_CORE_FORK_H_
#define ALLOMON_TRACKER_CORE_FORK_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/spin_lock.h"

namespace allomon::internal {

// Installs the three functions below with pthread_atfork, once for the process.
void InstallForkHandlers();

void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Adds a heap's lock to those held around fork.  The lock must live for ever.  Call it before the
// first sample.  At most kMostForkLocks locks are held, heaps' and the recorder's; more are
// ignored.
inline constexpr int kMostForkLocks = 6;
void HoldAroundFork(SpinLock* lock);

// The number of forks that lead from the first process to this one.
extern std::atomic<uint64_t> times_forked;
inline uint64_t TimesForked() { return times_forked.load(std::memory_order_relaxed); }
// A number that is unique in a tree of forks, so that the children of a process draw different
// random numbers; 0 in the first process.
extern std::atomic<uint64_t> fork_stream;
inline uint64_t ForkStream() { return fork_stream.load(std::memory_order_relaxed); }
// Returns the process id of a child without a system call.  If no handler has seen the fork, it is
// the calling thread's id.
uint32_t OwnProcessIdAfterFork();

// Fork handlers of a module whose locks are taken before the tracker's.  `before` runs before the
// tracker takes its own locks; the others run after these are released.  pthread_atfork would order
// the handlers by their installation.
struct OuterForkHandlers {
  void (*before)();
  void (*after_in_parent)();
  void (*after_in_child)();
};
// Sets the handlers, from the next fork on.  Only one caller may use it.  Installs the tracker's
// handlers as well.
void SetOuterForkHandlers(const OuterForkHandlers* handlers);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_FORK_H_
