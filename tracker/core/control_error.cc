#include "tracker/core/control_error.h"

namespace allomon::internal {

const char* TextOf(ControlError error) {
  switch (error) {
    case ControlError::kNone:
      return "ok";
    case ControlError::kBadRate:
      return "the rate must be a number in [0, 1] (samples per word)";
    case ControlError::kBadCallstackSize:
      return "callstack_size must be at most 1024";
    case ControlError::kAlreadyStarted:
      return "already started; stop the tracker that samples, or start this one as concurrent";
    case ControlError::kTooMany:
      return "eight trackers sample already, or sixteen exist; stop and discard one";
    case ControlError::kNotStarted:
      return "not started";
    case ControlError::kNotStopped:
      return "still sampling; stop the tracker first, and keep tracking";
    case ControlError::kNoSuchTracker:
      return "no such tracker, or it was discarded already";
  }
  return "unknown error";
}

}  // namespace allomon::internal
