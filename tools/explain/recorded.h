// The bytes that a process has asked for and not freed, by its recording.
#ifndef ALLOMON_TOOLS_EXPLAIN_RECORDED_H_
#define ALLOMON_TOOLS_EXPLAIN_RECORDED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/process.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::explain {

struct AskedFor {
  double bytes = 0;
  double large_bytes = 0;   // of blocks of kLargeBytes or more
  heap::Interval interval;  // in 95 of 100 runs; both ends are equal if it is exact
};

// Sums up the live blocks of a recording.
AskedFor AskedForOf(const heap::HeapProfile& profile);

// Reads what the process records; it may run.  Fails with the reason if the recording lacks live
// blocks of the process: it began later, or has lost samples.
absl::StatusOr<AskedFor> ReadAskedFor(const Process& process, const std::vector<Area>& areas);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_RECORDED_H_
