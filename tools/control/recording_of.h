// Finds the recording of a process.
#ifndef ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_
#define ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::control {

// Returns the path by which this process opens the current recording, or the last one.  Works also
// for a process that has ended, if its recording had the default name.
absl::StatusOr<std::string> RecordingOf(uint32_t pid);

// Returns the recording of the process.  With `with_descendants`, returns those of all live
// processes that it has started, too.  The result has at least one path.
absl::StatusOr<std::vector<std::string>> RecordingsOf(uint32_t pid, bool with_descendants);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_
