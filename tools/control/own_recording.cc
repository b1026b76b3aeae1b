#include "tools/control/own_recording.h"

#include "tools/control/conversation.h"

namespace allomon::control {
namespace {

constexpr double kStopSeconds = 10;

}  // namespace

// A process that has not begun yet is not waited for: the request to stop takes the other's place.
OwnRecording::~OwnRecording() {
  if (!has_begun_) return;
  const auto client = PageClient::Open(pid_);
  if (!client.ok()) return;  // it has ended
  Order stop;
  stop.verb = Verb::kStop;
  stop.for_children = for_children_;
  Ask(**client, stop, is_answered_ ? kStopSeconds : 0).IgnoreError();
}

absl::StatusOr<bool> OwnRecording::Begin(const Order& start, double wait_seconds) {
  const auto client = PageClient::Open(pid_);
  if (!client.ok()) return client.status();
  const auto state = (*client)->Read();
  if (!state.ok()) return state.status();
  if (state->state == State::kRecording) return true;
  const auto talk = Ask(**client, start, wait_seconds);
  if (!talk.ok()) return talk.status();
  if (talk->is_refused) return absl::FailedPreconditionError(talk->state.refusal);
  has_begun_ = true;
  for_children_ = start.for_children;
  is_answered_ = talk->is_answered;
  return is_answered_;
}

}  // namespace allomon::control
