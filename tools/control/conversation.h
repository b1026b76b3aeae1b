// Sends requests to processes, and waits for their answers.
#ifndef ALLOMON_TOOLS_CONTROL_CONVERSATION_H_
#define ALLOMON_TOOLS_CONTROL_CONVERSATION_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/page_client.h"

namespace allomon::control {

struct Conversation {
  bool is_answered = false;
  bool is_refused = false;
  PageState state;  // state at the end
};

// Waits for at most `wait_seconds`; there is no way to wait forever.  Fails if the process could
// not be asked, or has ended.
absl::StatusOr<Conversation> Ask(PageClient& client, const Order& order, double wait_seconds);

// Asks all clients at once.  Waits no longer than a second after the last answer, because a
// server's main process, which only starts others, may never allocate.  Returns an element for each
// client.
std::vector<absl::StatusOr<Conversation>> AskEach(const std::vector<PageClient*>& clients,
                                                  const Order& order, double wait_seconds);

// Returns "process 4711 (nginx): records one sample per 78.1 KiB into /dev/shm/allomon-4711.rec".
std::string Describe(const PageClient& client, const PageState& state);

// ---- Begins recordings where none exists, and ends them when the command ends.

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
  // be asked, or refuses.  One that records from its start on is not asked.
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

#endif  // ALLOMON_TOOLS_CONTROL_CONVERSATION_H_
