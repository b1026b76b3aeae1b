// Sums of the live blocks that a session follows, by call stack or by labels.
#ifndef ALLOMON_TRACKER_CORE_LIVE_SUMS_H_
#define ALLOMON_TRACKER_CORE_LIVE_SUMS_H_

#include <cstdint>
#include <vector>

#include "tracker/allocation.h"
#include "tracker/core/ids.h"
#include "tracker/estimate.h"

namespace allomon {

// The live blocks of one call stack: how many and how large, each with its variance.
struct LiveStack {
  Callstack callstack;
  uint64_t sampled_blocks = 0;
  HeapEstimate estimate;
};

// The same for one set of labels (allomon/labels.h).
struct LiveLabels {
  LabelSet labels;
  uint64_t sampled_blocks = 0;
  HeapEstimate estimate;
};

// The same for managed objects of one type (Allocation::type_name) allocated at one call stack.
struct LiveTypeStack {
  const char* type_name = nullptr;  // nullptr: not managed
  Callstack callstack;
  uint64_t sampled_blocks = 0;
  HeapEstimate estimate;
};

namespace internal {

// Most bytes first; empty for a session that is gone.  Thread safe, also in callbacks; allocates,
// and throws std::bad_alloc.  Cost: about 10 ns for each entry ever used at once.
std::vector<LiveStack> LiveStacksOf(SessionId id);
std::vector<LiveLabels> LiveLabelsOf(SessionId id);
std::vector<LiveTypeStack> LiveTypesOf(SessionId id);

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_TRACKER_CORE_LIVE_SUMS_H_
