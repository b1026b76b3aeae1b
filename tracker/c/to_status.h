// Converts errors of the tracker to statuses of the C interface.
#ifndef ALLOMON_TRACKER_C_TO_STATUS_H_
#define ALLOMON_TRACKER_C_TO_STATUS_H_

#include "allomon/status.h"
#include "tracker/core/control.h"

namespace allomon::c {

inline allomon_status ToStatus(internal::ControlError error) {
  using internal::ControlError;
  switch (error) {
    case ControlError::kNone:
      return ALLOMON_OK;
    case ControlError::kBadRate:
      return ALLOMON_BAD_RATE;
    case ControlError::kBadCallstackSize:
      return ALLOMON_BAD_CALLSTACK_SIZE;
    case ControlError::kAlreadyStarted:
      return ALLOMON_ALREADY_STARTED;
    case ControlError::kTooMany:
      return ALLOMON_TOO_MANY;
    case ControlError::kNotStarted:
      return ALLOMON_NOT_STARTED;
    case ControlError::kNotStopped:
      return ALLOMON_NOT_STOPPED;
    case ControlError::kNoSuchTracker:
      break;
  }
  return ALLOMON_NO_SUCH_TRACKER;
}

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_TO_STATUS_H_
