// What a piece of code allocated: exact numbers, and the call sites behind them.
#ifndef ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_
#define ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/allocation.h"

namespace allomon {

// What a gate limits.
enum class AllocationQuantity {
  kAllocations,   // blocks allocated
  kBytes,         // bytes allocated, as requested
  kPeakBytes,     // the most that lived at once of what was allocated
  kLeakedBlocks,  // blocks that were not freed in the end
};

// One call stack that allocated.
struct AllocationSite {
  Callstack callstack;
  size_t inner_frames = 0;  // frames within the counted code; the others are its callers
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  uint64_t live_blocks = 0;  // at the end
  uint64_t live_bytes = 0;
  // Blocks beyond the scope's limit.  For kAllocations and kBytes: those allocated after the limit
  // was reached.  For kPeakBytes: those that lived when the limit was first exceeded.
  uint64_t excess_blocks = 0;
};

struct AllocationReport {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  std::vector<AllocationSite> sites;

  // Why the numbers are not to be trusted; empty if they are exact.
  std::string error;

  uint64_t Of(AllocationQuantity quantity) const;

  // The call sites responsible for `quantity`, those with the most of it first, with source lines
  // where the code was compiled with -g1 or more.  Only sites with excess blocks, if there are any.
  // Ten sites of at most 16 frames.  Cost: milliseconds; see source_frames.h.
  std::string DescribeSites(AllocationQuantity quantity) const;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_
