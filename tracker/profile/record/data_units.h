// The units of profiling data: all there are, and the threads that count in them.
//
// A unit has one ThreadCounts for every thread that counts in it, made when the thread
// first does and taken over by the next thread when that one ends, so nothing is lost and
// memory is bounded by the threads that run at once.  What no thread has counts for (it
// has ended, or the kernel had no memory) goes to the unit's common ones.
//
// Thread safe unless stated; not in signal handlers; memory by mmap only.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_

#include <cstdint>
#include <vector>

#include "tracker/base/spin_lock.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/function_counts.h"
#include "tracker/profile/record/stack_counts.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/record/unit_name.h"

namespace allomon::internal {

// All zero at first.
struct DataUnit {
  uint32_t slot = 0;
  uint32_t use = 0;         // how often the slot was freed: an old name is known by it
  bool freed = false;       // under the lock, like the next two
  uint32_t current_in = 0;  // threads
  ThreadCounts* threads = nullptr;
  ThreadCounts* common = nullptr;  // never null once the unit has a name
  StackCounts by_stack;            // of programs that do not name their functions
  StackCounts by_stack_gc;         // by the collector, while these were on the stack
};

// Guards all of the above and the registry of threads.  Take it through UnitsLock only.
SpinLock& UnitsMutex();

// The lock, with this thread's signal handlers kept out.
class ALLOMON_SCOPED_LOCKABLE UnitsLock {
 public:
  UnitsLock() ALLOMON_ACQUIRE(UnitsMutex()) { UnitsMutex().lock(); }
  ~UnitsLock() ALLOMON_RELEASE() { UnitsMutex().unlock(); }
  UnitsLock(const UnitsLock&) = delete;
  UnitsLock& operator=(const UnitsLock&) = delete;

 private:
  const BusyScope busy_;
};

enum class UnitError { kNone, kFreed, kCurrent, kDefault, kTooMany };

UnitError MallocUnit(UnitName* name);
UnitError FreeUnit(UnitName name);

// Where the thread counts that is not attached, or had no memory for counts of its own.
ThreadCounts& CountsOf(const ThreadProfile& thread);

// The unit this thread counts in.
DataUnit& UnitOf(const ThreadProfile& thread);
UnitName CurrentUnit();

// Makes a unit the thread's; on failure leaves all as it was.  Functions that are on the
// stack are not on it as far as the new unit is concerned, as in MLton.
UnitError SwitchUnit(UnitName name, SavedUnit* saved);
// And back.  kFreed if that unit was freed meanwhile: the thread is in the default one.
UnitError RestoreUnit(const SavedUnit& saved);

// Counts for the thread in its current unit, if it has none.  Caller holds the lock.
void TakeCountsLocked(ThreadProfile& thread);
void ReturnCountsLocked(ThreadProfile& thread);

// Where hooks of the calling thread are to count.  Caller holds the lock.
ThreadCounts& CountsOfThisThreadLocked();

// Tells every attached thread, and hooks, what recording wants.  Caller holds the lock.
void TellThreadsLocked();
void RegisterThreadLocked(ThreadProfile& thread);
void ForgetThreadLocked(ThreadProfile& thread);

// All that a unit holds, all threads together, in units of the kind.  The lengths are the
// caller's.
struct MergedCounts {
  std::vector<MlmonCount> functions;  // by place in the table
  std::vector<MlmonCount> managed;    // by number
  double variance = 0;
};
UnitError MergeUnit(UnitName name, MergedCounts* merged);

// Calls visit(stack id, amount) for what was charged to call stacks, and visit_gc for what the
// collector used on them.
UnitError VisitStacks(UnitName name, const StackCounts::Visitor& visit,
                      const StackCounts::Visitor& visit_gc);

// Start, stop.
void HoldAllUnitsLocked();
void ResumeAllUnitsLocked();
void ClearAllUnitsLocked();

// In a forked child: only the calling thread is left, and nothing is counted yet.
void ForgetOtherThreadsAfterFork();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_
