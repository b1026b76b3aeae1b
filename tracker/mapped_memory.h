// Memory that a program maps itself, treated as out-of-heap bytes of the code that mapped it:
// sampled with source kCustom, as CustomMemory is (custom_memory.h), and followed by its addresses
// until all of it is unmapped.
//
// For code that overrides mmap(2), munmap(2) and mremap(2).  It takes the Moment() before the
// system call, and reports a successful call after it.  In between, another thread may be given
// addresses that were unmapped; so a report does not undo what was told since its moment.
//
// Thread safe; also in signal handlers, where a mapping may be missed if the handler interrupted
// the tracker.  Never throws, never calls malloc, keeps errno.  Cost of a mapping that is not
// sampled: a subtraction and a load, and, once anything is followed, a lock and a binary search.
#ifndef ALLOMON_TRACKER_MAPPED_MEMORY_H_
#define ALLOMON_TRACKER_MAPPED_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon {

// The places that are followed, and those that are not memory of the program's own.  One object per
// process, initialised at compile time.
class MappedMemory {
 public:
  // Call before the functions below, and not in a signal handler.  At most 65,536 places are
  // followed at once.  Other mappings are only counted at their birth.  If a mapping is split into
  // more parts than there is room for, the later parts are taken as unmapped.
  static void Begin();

  using Moment = uint64_t;
  static Moment Now();

  // The system has mapped these bytes.  Samples each word, charged to `caller`.  Earlier mappings
  // there are gone.
  static void Mapped(const void* start, size_t size_bytes, Moment before, const FrameState& caller);
  // The same for a file, shared memory or address space without access: not counted, even after a
  // move.
  static void MappedOther(const void* start, size_t size_bytes, Moment before);

  // The system has unmapped the pages of these bytes.  A followed mapping that is partly left keeps
  // the size of all its parts and the samples in them.  If no samples are left, it is reported as
  // dead.
  static void Unmapped(const void* start, size_t size_bytes, Moment before);

  // Whether any of these bytes was MappedOther().  Callers check it before they move a mapping.
  static bool IsOther(const void* start, size_t size_bytes);
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_MAPPED_MEMORY_H_
