// The clock of pauses.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_NOW_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_NOW_H_

#include <time.h>

#include <cstdint>

namespace allomon::gc::internal {

inline uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_NOW_H_
