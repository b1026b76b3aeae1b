// Memory that a program maps itself, as out-of-heap bytes of the code that mapped it: sampled with
// source kCustom, as CustomMemory is (custom_memory.h), and followed by its addresses until it is
// unmapped.
//
// For whoever stands in front of mmap(2), munmap(2) and mremap(2).  Thread safe; also in signal
// handlers, where a mapping may be missed if the handler interrupted the tracker.  Never throws,
// never allocates by malloc, keeps errno.  Cost of a mapping that is not sampled: a subtraction, a
// load, and where anything is followed a lock and a binary search.
#ifndef ALLOMON_TRACKER_MAPPED_MEMORY_H_
#define ALLOMON_TRACKER_MAPPED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon {

// The mapped places that are followed.  One per process, constant-initialised.
class MappedMemory {
 public:
  // Before the first of the following, and not in a signal handler.  At most 65,536 mappings are
  // followed at once; of others only their birth is known.
  static void Begin();

  // After the system has mapped these bytes: a sample for each word, charged to `caller`.  What was
  // followed there before is gone.
  static void Mapped(const void* start, size_t size_bytes, const FrameState& caller);

  // Before the system unmaps them, or puts something else there.  A followed mapping of which a
  // part is left goes on with the size of the part; of two parts, with the first.
  static void Unmapped(const void* start, size_t size_bytes);
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_MAPPED_MEMORY_H_
