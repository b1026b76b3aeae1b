// Counts exactly the allocations of the calling thread in a piece of code.
//
//   allomon::AllocationScope scope;
//   Parse(line);
//   const allomon::AllocationReport report = scope.Stop();
//   if (report.allocations > 2) puts(report.DescribeSites(...).c_str());
//
// What counts:
// - Blocks that this thread takes from malloc, operator new and their kin, and managed objects,
//   between the scope's beginning and its end.  Bytes count as requested, without headers and
//   rounding.  What other threads and the callbacks of trackers allocate does not count.
// - realloc of a block is one allocation, of its new size, and one free.  The new block is there
//   before the old one goes, so both are in the peak.
// - Frees on any thread, of blocks that were allocated in the scope.  A block from before the scope
//   that is freed in it changes nothing.
// - Scopes nest: the outer one counts what the inner one does.  What the scopes themselves allocate
//   is in neither.
// - The test framework's own work does not count: framework_frames.h says what that is.
// - Allocations of a thread that exits, and of an exception in flight, are ordinary malloc, and
//   counted.
//
// Implementation: while any scope is open, a tracker at rate 1 (tracker.h) sees every block of the
// process.  It is one of the eight trackers that may sample at once.  All threads are slow
// meanwhile: 160 ns per block with its free, at a call stack of a few frames; README.md.
//
// Thread rule: a scope belongs to the thread that made it, and the scopes of one thread end in the
// reverse order.  Several threads may have scopes at the same time.  Not in signal handlers and
// tracker callbacks.
#ifndef ALLOMON_TRACKER_GATES_ALLOCATION_SCOPE_H_
#define ALLOMON_TRACKER_GATES_ALLOCATION_SCOPE_H_

#include <memory>
#include <string>

#include "tracker/gates/allocation_report.h"
#include "tracker/gates/exact_count.h"
#include "tracker/gates/ledger.h"

namespace allomon {

// While an object of this class lives, the scopes of its thread do not count the thread's
// allocations.
class UncountedRegion {
 public:
  UncountedRegion();
  ~UncountedRegion();
  UncountedRegion(const UncountedRegion&) = delete;
  UncountedRegion& operator=(const UncountedRegion&) = delete;
};

class AllocationScope {
 public:
  // With a limit, AllocationSite::excess_blocks is filled in.  If counting is not possible (malloc
  // does not report; eight trackers sample already), the report's `error` tells why.
  explicit AllocationScope(AllocationLimit limit = {});
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  // The numbers so far.  Any thread.
  AllocationReport Read() const;

  // Ends the scope and returns its numbers; later calls return the same.
  AllocationReport Stop();

 private:
  // The state to which the thread returns at the end of the scope.
  std::shared_ptr<internal::Ledger> previous_;
  int previous_uncounted_;

  std::shared_ptr<internal::Ledger> ledger_;
  TrackerId tracker_;
  internal::Losses losses_before_;
  std::string error_;
  bool stopped_ = false;
  AllocationReport final_;
};

// Runs `code` in a scope.
template <typename Code>
AllocationReport AllocationsOf(Code&& code) {
  AllocationScope scope;
  code();
  return scope.Stop();
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_ALLOCATION_SCOPE_H_
