// Where the recording of a process is.
#ifndef ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_
#define ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::control {

// The path, as this process opens it: of the recording that goes on, or of the last one; also of a
// process that has ended, if its recording had the name that it gets by itself.
absl::StatusOr<std::string> RecordingOf(uint32_t pid);

// The same; or, with those that it has started, of all that have one and live.  At least one.
absl::StatusOr<std::vector<std::string>> RecordingsOf(uint32_t pid, bool with_descendants);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_RECORDING_OF_H_
