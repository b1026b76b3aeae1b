#include "tools/control/conversation.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "tools/report/units.h"

namespace allomon::control {
namespace {

using Clock = std::chrono::steady_clock;

// A server under load answers within some of these.
constexpr std::chrono::milliseconds kStep(5);

bool IsSameProcess(const ProcessFacts& process) {
  const auto now = FactsOf(process.pid);
  return now && now->started_at_nanos == process.started_at_nanos;
}

std::string RateText(double rate) {
  constexpr double kWordBytes = 8;
  if (!(rate > 0 && rate < 1)) return "every block";
  const double gap_bytes = std::fmin(kWordBytes / rate, 1e18);
  return "one sample per " + report::Amount(ProfileKind::kAlloc, std::llround(gap_bytes));
}

}  // namespace

absl::StatusOr<Conversation> Ask(PageClient& client, const Order& order, double wait_seconds) {
  if (const absl::Status status = client.Lock(); !status.ok()) return status;
  const auto number = client.Send(order);
  if (!number.ok()) return number.status();
  const auto end = Clock::now() + std::chrono::duration<double>(wait_seconds);
  for (;;) {
    const auto state = client.Read();
    if (!state.ok()) return state.status();
    if (state->answered == *number) {
      return Conversation{true, state->answer != Answer::kDone, *state};
    }
    if (!IsSameProcess(client.process())) {
      return absl::UnavailableError("process " + std::to_string(client.process().pid) +
                                    " has ended");
    }
    if (Clock::now() >= end) return Conversation{false, false, *state};
    std::this_thread::sleep_for(kStep);
  }
}

std::string Describe(const PageClient& client, const PageState& state) {
  const ProcessFacts& process = client.process();
  std::string text = "process " + std::to_string(process.pid) + " (" + process.name + "): ";
  if (state.state == State::kRecording) {
    return text + "records " + RateText(state.rate) + " into " + state.recording;
  }
  text += "idle";
  if (!state.recording.empty()) text += "; the last recording is " + state.recording;
  return text;
}

}  // namespace allomon::control
