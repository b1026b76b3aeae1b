// The pause of a thread that waits for a change without a notification.
#ifndef ALLOMON_TRACKER_BASE_WAITING_H_
#define ALLOMON_TRACKER_BASE_WAITING_H_

#include <time.h>

#include <cstdint>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

// Pauses between two checks; `look` is the number of the check.  Yielding alone would starve a
// thread of lower real-time priority on the same processor for ever.  No cancellation point, sets
// no errno.
inline void PauseBetweenLooks(uint32_t look) {
  constexpr timespec kPause = {0, 50000};
  if (look > 1000) {
    sys::Nanosleep(kPause);
  } else if (look > 100) {
    sys::SchedYield();
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_WAITING_H_
