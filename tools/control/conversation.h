// Asks processes, and waits for their answers.
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
  PageState state;  // when it ended
};

// Waits for at most so long; forever for none is not offered.  Fails where nothing could be asked,
// or where the process has ended.
absl::StatusOr<Conversation> Ask(PageClient& client, const Order& order, double wait_seconds);

// Asks all of them at once.  Waits no longer than a second after the last answer that came: of a
// server's processes, the one that only starts others may never allocate.  An element for each.
std::vector<absl::StatusOr<Conversation>> AskEach(const std::vector<PageClient*>& clients,
                                                  const Order& order, double wait_seconds);

// "process 4711 (nginx): records one sample per 78.1 KiB into /dev/shm/allomon-4711.rec".
std::string Describe(const PageClient& client, const PageState& state);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_CONVERSATION_H_
