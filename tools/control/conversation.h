// Sends requests to processes, and waits for their answers.
#ifndef ALLOMON_TOOLS_CONTROL_CONVERSATION_H_
#define ALLOMON_TOOLS_CONTROL_CONVERSATION_H_

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

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_CONVERSATION_H_
