// Memory that a program maps itself, as out-of-heap bytes of the code that mapped it: sampled with
// source kCustom, as CustomMemory is (custom_memory.h), and followed by its addresses until all of
// it is unmapped.
//
// For whoever stands in front of mmap(2), munmap(2) and mremap(2): it takes the Moment() before the
// system call, and tells what has happened after it, if it has not failed.  Until then another
// thread may be given addresses that were unmapped: what was told since the moment is not undone.
//
// Thread safe; also in signal handlers, where a mapping may be missed if the handler interrupted
// the tracker.  Never throws, never allocates by malloc, keeps errno.  Cost of a mapping that is
// not sampled: a subtraction, a load, and where anything is known a lock and a binary search.
#ifndef ALLOMON_TRACKER_MAPPED_MEMORY_H_
#define ALLOMON_TRACKER_MAPPED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon {

// The mapped places that are followed, and those that are no memory of the program's own.  One per
// process, constant-initialised.
class MappedMemory {
 public:
  // Before the first of the following, and not in a signal handler.  At most 65,536 places are
  // followed at once: of other mappings only their birth is known, and of one that falls into more
  // parts than there is room for, the later parts are taken for unmapped.
  static void Begin();

  using Moment = uint64_t;
  static Moment Now();

  // The system has mapped these bytes: a sample for each word, charged to `caller`.  What was there
  // before is gone.
  static void Mapped(const void* start, size_t size_bytes, Moment before, const FrameState& caller);
  // The same of a file, of shared memory, of address space without access: not counted, also when
  // it is moved.
  static void MappedOther(const void* start, size_t size_bytes, Moment before);

  // The system has unmapped the pages of these bytes.  A followed mapping of which parts are left
  // goes on with the size of them all, and with the samples that are in them: where there are none
  // left, it is told of as dead.
  static void Unmapped(const void* start, size_t size_bytes, Moment before);

  // Whether anything there was MappedOther(), to be asked before it is moved.
  static bool IsOther(const void* start, size_t size_bytes);
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_MAPPED_MEMORY_H_
