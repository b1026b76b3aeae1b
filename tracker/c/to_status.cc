#include "tracker/c/to_status.h"

namespace allomon::c {

using internal::ControlError;

allomon_status ToStatus(ControlError error) {
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
