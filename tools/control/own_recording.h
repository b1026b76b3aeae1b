// Begins recordings where none exists, and ends them when the command ends.
#ifndef ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_
#define ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/page_client.h"

namespace allomon::control {

// The recording of a process; with Order::for_children, also of the processes that it has started.
// Other commands may ask the same processes in the meantime.
class OwnRecording {
 public:
  explicit OwnRecording(uint32_t pid) : pid_(pid) {}
  ~OwnRecording();
  OwnRecording(const OwnRecording&) = delete;
  OwnRecording& operator=(const OwnRecording&) = delete;

  // Callers call it once.  False if the process has not answered in `wait_seconds`.  It then begins
  // when it allocates, and the recording still belongs to this object.  Fails if the process cannot
  // be asked, or refuses.
  absl::StatusOr<bool> Begin(const Order& start, double wait_seconds);

 private:
  using Clients = std::vector<std::unique_ptr<PageClient>>;

  Clients Descendants() const;
  Clients ToStop() const;

  const uint32_t pid_;
  bool has_begun_ = false;
  bool for_children_ = false;
  bool is_answered_ = false;
  std::set<uint32_t> others_;  // processes that recorded before
};

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_
