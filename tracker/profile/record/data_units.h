// The units of profiling data, and the threads that count in them.
//
// A unit has one ThreadCounts for every thread that counts in it.  A ThreadCounts is made when a
// thread first counts in the unit.  When that thread ends, the next thread takes the ThreadCounts
// over.  So no count is lost, and memory is bounded by the number of threads that run at once.  A
// thread without counts of its own, because it has ended or the kernel had no memory, counts in the
// unit's common counts.
//
// Thread safe unless stated; not in signal handlers; memory by mmap only.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_

#include <cstdint>
#include <vector>

#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/function_counts.h"
#include "tracker/profile/record/stack_counts.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/record/unit_name.h"

namespace allomon::internal {

// Guards the units and the registry of threads.  It is taken by UnitsLock only, and around fork by
// LockAroundFork().
extern SpinLock units_mutex __attribute__((visibility("hidden")));

// A unit.  All zero at first.
struct DataUnit {
  uint32_t slot = 0;
  uint32_t use = 0;  // number of times the slot was freed; an old name has a smaller one
  bool freed ALLOMON_GUARDED_BY(units_mutex) = false;
  // The number of threads that count in the unit; 0 for the default unit, which is never freed.
  uint32_t current_in ALLOMON_GUARDED_BY(units_mutex) = 0;
  ThreadCounts* threads ALLOMON_GUARDED_BY(units_mutex) = nullptr;
  ThreadCounts* common = nullptr;  // never null once the unit has a name
  StackCounts by_stack;            // of programs that do not name their functions
  StackCounts by_stack_gc;         // the collector's use, while these stacks were below it
};

// Holds the lock, and keeps this thread's signal handlers out.
class ALLOMON_SCOPED_LOCKABLE UnitsLock {
 public:
  UnitsLock() ALLOMON_ACQUIRE(units_mutex) { units_mutex.lock(); }
  ~UnitsLock() ALLOMON_RELEASE() { units_mutex.unlock(); }
  UnitsLock(const UnitsLock&) = delete;
  UnitsLock& operator=(const UnitsLock&) = delete;

 private:
  const BusyScope busy_;
};

enum class UnitError { kNone, kFreed, kCurrent, kDefault, kTooMany };

UnitError MallocUnit(UnitName* name);
UnitError FreeUnit(UnitName name);

// Makes the default unit, if there is none.  After that UnitOf() and CountsOf() may be called, also
// in signal handlers.  The start of a profile calls this function, too.
void MakeDefaultUnit();

// The counts of the thread in its current unit: the thread's own, or the unit's common ones.
ThreadCounts& CountsOf(const ThreadProfile& thread);

// The unit that the thread counts in.
DataUnit& UnitOf(const ThreadProfile& thread);
UnitName CurrentUnit();

// Makes a unit the thread's current one; on failure changes nothing.  Functions that are on the
// stack do not count as on the stack for the new unit, as in MLton.
UnitError SwitchUnit(UnitName name, SavedUnit* saved);
// Undoes SwitchUnit().  kFreed if the outer unit was freed since; the thread is then in the default
// unit.
UnitError RestoreUnit(const SavedUnit& saved);

// The caller of a ...Locked function holds the lock (inv.units.locked).

// Takes counts for the thread in its current unit, if the thread has none.
void TakeCountsLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex);
void ReturnCountsLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex);

// The counts that hooks of the calling thread add to.
ThreadCounts& CountsOfThisThreadLocked() ALLOMON_REQUIRES(units_mutex);

// Tells every attached thread, and the hooks, about the state of the recording.
void TellThreadsLocked() ALLOMON_REQUIRES(units_mutex);
void RegisterThreadLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex);
void ForgetThreadLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex);

// The counts of a unit, summed over all threads, in the finest unit of their kind.  The caller sets
// the lengths of the vectors.
struct MergedCounts {
  std::vector<MlmonCount> functions;  // by place in the table
  std::vector<MlmonCount> managed;    // by number
  double variance = 0;
};
UnitError MergeUnit(UnitName name, MergedCounts* merged);

// Calls visit(stack id, amount) for the amounts that were charged to call stacks, and visit_gc for
// the amounts that the collector used with these stacks below it.
UnitError VisitStacks(UnitName name, const StackCounts::Visitor& visit,
                      const StackCounts::Visitor& visit_gc);

// Called at the stop and at the start of a profile.
void HoldAllUnitsLocked() ALLOMON_REQUIRES(units_mutex);
void ResumeAllUnitsLocked() ALLOMON_REQUIRES(units_mutex);
void ClearAllUnitsLocked() ALLOMON_REQUIRES(units_mutex);

// Called in a forked child, in which only the calling thread exists and nothing is counted yet.
void ForgetOtherThreadsLocked() ALLOMON_REQUIRES(units_mutex);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_DATA_UNITS_H_
