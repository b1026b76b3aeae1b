// Recordings that a command begins where there are none, and ends when it ends itself.
#ifndef ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_
#define ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/page_client.h"

namespace allomon::control {

// Of a process; with Order::for_children, of those that it has started, too.  All may be asked by
// other commands meanwhile.
class OwnRecording {
 public:
  explicit OwnRecording(uint32_t pid) : pid_(pid) {}
  ~OwnRecording();
  OwnRecording(const OwnRecording&) = delete;
  OwnRecording& operator=(const OwnRecording&) = delete;

  // Once.  False if there was no answer in that time: the process begins when it allocates, and the
  // recording is this object's all the same.  Fails where it cannot be asked, or refuses.
  absl::StatusOr<bool> Begin(const Order& start, double wait_seconds);

 private:
  using Clients = std::vector<std::unique_ptr<PageClient>>;

  Clients Descendants() const;
  Clients ToStop() const;

  const uint32_t pid_;
  bool has_begun_ = false;
  bool for_children_ = false;
  bool is_answered_ = false;
  std::set<uint32_t> others_;  // recorded before
};

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_OWN_RECORDING_H_
