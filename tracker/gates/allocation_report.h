// The allocations of a piece of code: exact numbers, and their call sites.
#ifndef ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_
#define ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/allocation.h"

namespace allomon {

// Quantities that a gate can limit.
enum class AllocationQuantity {
  kAllocations,   // blocks allocated
  kBytes,         // bytes allocated, as requested
  kPeakBytes,     // the maximum of the scope's bytes that were live at once
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
  // Blocks beyond the scope's limit.  For kAllocations and kBytes: blocks allocated after the limit
  // was reached.  For kPeakBytes: blocks that were live when the limit was first exceeded.
  uint64_t excess_blocks = 0;
};

struct AllocationReport {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  std::vector<AllocationSite> sites;

  // The reason why the numbers are not reliable; empty if they are exact.
  std::string error;

  uint64_t Of(AllocationQuantity quantity) const;

  // Returns the call sites of `quantity`, those with the most of it first, with source lines if the
  // code was compiled with -g1 or more.  If there are sites with excess blocks, only these.  At
  // most ten sites of 16 frames each.  Cost: milliseconds; see source_frames.h.
  std::string DescribeSites(AllocationQuantity quantity) const;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_GATES_ALLOCATION_REPORT_H_
