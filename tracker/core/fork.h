// Fork with the tracker's locks held, so that a child inherits none of them held by a thread
// that it does not have.
#ifndef ALLOMON_TRACKER_CORE_FORK_H_
#define ALLOMON_TRACKER_CORE_FORK_H_

#include "tracker/base/spin_lock.h"

namespace allomon::internal {

// Once for the process, by pthread_atfork: the three below.
void InstallForkHandlers();

void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// A heap's lock, to be held with the tracker's.  It must live for ever.  Before the first
// sample; at most kMaxHeapLocks, more are not held.
inline constexpr int kMaxHeapLocks = 4;
void HoldAroundFork(SpinLock* lock);

// What is done around a fork by one whose locks are taken outside of the tracker's: `before`
// runs before the tracker takes its own, the others when those are free again.  pthread_atfork
// would order them by who happened to come first.
struct OuterForkHandlers {
  void (*before)();
  void (*after_in_parent)();
  void (*after_in_child)();
};
// For one caller; from the next fork on.  Installs the tracker's handlers too.
void SetOuterForkHandlers(const OuterForkHandlers* handlers);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_FORK_H_
