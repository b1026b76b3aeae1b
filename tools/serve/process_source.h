// Serves the recordings of a running process, and asks it to record if it does not yet.
#ifndef ALLOMON_TOOLS_SERVE_PROCESS_SOURCE_H_
#define ALLOMON_TOOLS_SERVE_PROCESS_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tools/control/conversation.h"
#include "tools/control/processes.h"
#include "tools/serve/source.h"

namespace allomon::serve {

class ProcessSource : public Source {
 public:
  // The recording to ask for, and the process.
  struct Wish {
    uint32_t pid = 0;
    bool all_children = false;
    double rate = -1;  // below 0: the process's own rate
  };

  // Fails with one line if the process cannot be asked.  A process that does not answer in time is
  // no failure: it begins to record when it allocates, and `note` says so.  A recording that this
  // object began ends with it.
  static absl::StatusOr<std::unique_ptr<ProcessSource>> Open(const Wish& wish, double wait_seconds,
                                                             std::string* note);

  // Includes the last recording of a process that has ended.
  absl::StatusOr<std::vector<RecordingFile>> Files() override;

 private:
  explicit ProcessSource(const Wish& wish) : wish_(wish), recording_(wish.pid) {}

  void AddFileOf(uint32_t pid, std::vector<RecordingFile>* files);

  const Wish wish_;
  control::OwnRecording recording_;
  std::mutex mutex_;
  std::map<uint32_t, control::FoundRecording> known_;  // the last known one of each process
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PROCESS_SOURCE_H_
