// The address space that a process may have.  Memory that is mapped before its use takes only a
// share of it, so that a host under `ulimit -v` keeps the rest.
#ifndef ALLOMON_TRACKER_BASE_ADDRESS_SPACE_H_
#define ALLOMON_TRACKER_BASE_ADDRESS_SPACE_H_

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Returns one of `parts` equal parts of RLIMIT_AS, in bytes; SIZE_MAX without a limit.  Reads the
// limit each time, since hosts change it.  Async-signal-safe.  Cost: a system call.
inline size_t AddressSpacePartBytes(size_t parts) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur / parts;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_ADDRESS_SPACE_H_
