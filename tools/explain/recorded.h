// The bytes that a process has asked for and not freed, by its recording.
#ifndef ALLOMON_TOOLS_EXPLAIN_RECORDED_H_
#define ALLOMON_TOOLS_EXPLAIN_RECORDED_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/interval.h"

namespace allomon::explain {

struct AskedFor {
  double bytes = 0;
  double large_bytes = 0;   // of blocks of kLargeBytes or more
  heap::Interval interval;  // in 95 of 100 runs; both ends are equal if it is exact
};

// Reads the file of a recording; its process may run.  Fails with the reason if the recording
// lacks live blocks of the process: it began later, has lost samples, or belongs to several
// processes.
absl::StatusOr<AskedFor> ReadAskedFor(const std::string& path, uint32_t pid,
                                      int64_t process_start_unix_nanos);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_RECORDED_H_
