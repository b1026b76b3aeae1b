#include "tools/control/recording_of.h"

#include <unistd.h>

#include "tools/control/page_client.h"
#include "tools/control/processes.h"
#include "tracker/formats/control_names.h"

namespace allomon::control {
namespace {

absl::StatusOr<std::string> RecordingOfEnded(uint32_t pid, const absl::Status& why) {
  for (const char* const folder : kFolders) {
    const std::string path =
        std::string(folder) + ControlStemOf(pid, OwnPidNamespace()).text + kRecordingSuffix;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return why;
}

void AddDescendants(uint32_t pid, std::vector<std::string>* recordings) {
  for (const uint32_t child : DescendantsOf(pid)) {
    const auto recording = RecordingOf(child);
    if (recording.ok() && access(recording->c_str(), R_OK) == 0) recordings->push_back(*recording);
  }
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

absl::StatusOr<std::vector<std::string>> RecordingsOf(uint32_t pid, bool with_descendants) {
  std::vector<std::string> recordings;
  const auto own = RecordingOf(pid);
  if (own.ok()) recordings.push_back(*own);
  if (with_descendants) AddDescendants(pid, &recordings);
  if (recordings.empty()) return own.status();
  return recordings;
}

}  // namespace allomon::control
