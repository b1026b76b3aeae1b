// Why a session could not be started, stopped or discarded.
#ifndef ALLOMON_TRACKER_CORE_CONTROL_ERROR_H_
#define ALLOMON_TRACKER_CORE_CONTROL_ERROR_H_

namespace allomon::internal {

enum class ControlError {
  kNone,
  kBadRate,           // NaN or outside [0, 1]
  kBadCallstackSize,  // larger than kMaxCallstackSize
  kAlreadyStarted,    // an exclusive session is sampling
  kTooMany,           // no room for another session
  kNotStarted,        // no such session is sampling
  kNotStopped,        // discard of a session that still samples
  kNoSuchTracker,     // discarded already, or never started
};

// Returns the meaning of an error and its remedy: a static text for users of C and C++.
const char* TextOf(ControlError error);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CONTROL_ERROR_H_
