#include "tools/control/recording_of.h"

#include <unistd.h>

#include "tools/control/page_client.h"

namespace allomon::control {
namespace {

absl::StatusOr<std::string> RecordingOfEnded(uint32_t pid, const absl::Status& why) {
  for (const char* const folder : kFolders) {
    const std::string path =
        std::string(folder) + kNamePrefix + std::to_string(pid) + kRecordingSuffix;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return why;
}

}  // namespace

absl::StatusOr<std::string> RecordingOf(uint32_t pid) {
  const auto client = PageClient::Open(pid);
  if (!client.ok()) return RecordingOfEnded(pid, client.status());
  const auto state = (*client)->Read();
  if (!state.ok()) return state.status();
  if (!state->recording.empty()) return (*client)->PathFromHere(state->recording);
  const std::string number = std::to_string(pid);
  return absl::UnavailableError("process " + number + " has not recorded anything; allomon ctl " +
                                number + " start");
}

}  // namespace allomon::control
