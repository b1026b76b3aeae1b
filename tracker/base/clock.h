// The time of one of the kernel's clocks.
#ifndef ALLOMON_TRACKER_BASE_CLOCK_H_
#define ALLOMON_TRACKER_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace allomon::internal {

// Returns nanoseconds.  Any thread, inside malloc, in signal handlers.  Cost: a call of the vdso
// (some 20 ns) for CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME, which every sandbox allows;
// 0 for a clock that the kernel does not have.
inline uint64_t ClockNanos(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_CLOCK_H_
