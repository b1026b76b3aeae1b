#include "tools/control/own_recording.h"

#include <cmath>
#include <utility>

#include "tools/control/conversation.h"

namespace allomon::control {
namespace {

constexpr double kStopSeconds = 10;
constexpr double kRestSeconds = 1;

bool Records(const PageClient& client) {
  const auto state = client.Read();
  return state.ok() && state->state == State::kRecording;
}

}  // namespace

OwnRecording::Clients OwnRecording::Descendants() const {
  return for_children_ ? PagesOfDescendants(pid_) : Clients();
}

absl::StatusOr<bool> OwnRecording::Begin(const Order& start, double wait_seconds) {
  auto parent = PageClient::Open(pid_);
  if (!parent.ok()) return parent.status();
  for_children_ = start.for_children;
  Clients clients = Descendants();
  clients.insert(clients.begin(), *std::move(parent));
  Clients idle;
  for (auto& client : clients) {
    if (Records(*client)) {
      others_.insert(client->process().pid);
    } else {
      idle.push_back(std::move(client));
    }
  }
  if (idle.empty()) return true;
  const bool is_alone = clients.size() == 1;
  // If other processes record, their data can be shown already, so the wait is short.
  const double seconds = others_.empty() ? wait_seconds : std::fmin(wait_seconds, kRestSeconds);
  for (const auto& talk : AskEach(Pointers(idle), start, seconds)) {
    if (is_alone && !talk.ok()) return talk.status();
    if (is_alone && talk->is_refused) return absl::FailedPreconditionError(talk->state.refusal);
    is_answered_ |= talk.ok() && talk->is_answered && !talk->is_refused;
  }
  has_begun_ = true;
  return is_answered_ || !others_.empty();
}

// Includes the process itself even if it has not begun: the request to stop replaces the one to
// start.
OwnRecording::Clients OwnRecording::ToStop() const {
  Clients found = Descendants(), clients;
  auto parent = PageClient::Open(pid_);
  if (parent.ok()) found.push_back(*std::move(parent));
  for (auto& client : found) {
    const uint32_t pid = client->process().pid;
    const bool is_ours = others_.count(pid) == 0 && (pid == pid_ || Records(*client));
    if (is_ours) clients.push_back(std::move(client));
  }
  return clients;
}

OwnRecording::~OwnRecording() {
  if (!has_begun_) return;
  const Clients clients = ToStop();
  Order stop;
  stop.verb = Verb::kStop;
  stop.for_children = for_children_;
  if (!clients.empty()) AskEach(Pointers(clients), stop, is_answered_ ? kStopSeconds : 0);
}

}  // namespace allomon::control
