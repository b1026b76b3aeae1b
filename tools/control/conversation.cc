#include "tools/control/conversation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "tools/control/processes.h"
#include "tools/text/amounts.h"

namespace allomon::control {
namespace {

using Clock = std::chrono::steady_clock;

// A loaded server answers within a few of these steps.
constexpr std::chrono::milliseconds kStep(5);
constexpr std::chrono::seconds kRestWait(1);

bool IsSameProcess(const ProcessFacts& process) {
  const auto now = FactsOf(process.pid);
  return now && now->started_at_nanos == process.started_at_nanos;
}

// A request to one process, and the state of its answer.
struct Question {
  Question(PageClient* to, const Order& order) : client(*to), talk(Conversation()) {
    absl::Status status = client.Lock();
    if (status.ok()) {
      const auto sent = client.Send(order);
      status = sent.status();
      if (sent.ok()) number = *sent;
    }
    if (!status.ok()) talk = status;
  }
  bool is_open() const { return talk.ok() && !talk->is_answered; }

  PageClient& client;
  uint64_t number = 0;
  absl::StatusOr<Conversation> talk;
};

void Look(Question* question) {
  const PageClient& client = question->client;
  const auto state = client.Read();
  if (!state.ok()) {
    question->talk = state.status();
  } else if (state->answered == question->number) {
    question->talk = Conversation{true, state->answer != Answer::kDone, *state};
  } else if (!IsSameProcess(client.process())) {
    question->talk =
        absl::UnavailableError("process " + std::to_string(client.process().pid) + " has ended");
  } else {
    question->talk = Conversation{false, false, *state};
  }
}

struct Progress {
  size_t open = 0;           // questions without an answer
  bool is_answered = false;  // a question was answered just now
};

Progress LookAt(std::vector<Question>& questions) {
  Progress progress;
  for (Question& question : questions) {
    if (!question.is_open()) continue;
    Look(&question);
    progress.open += question.is_open() ? 1 : 0;
    progress.is_answered |= question.talk.ok() && question.talk->is_answered;
  }
  return progress;
}

std::string RateText(double rate) {
  constexpr double kWordBytes = 8;
  if (!(rate > 0 && rate < 1)) return "every block";
  const double gap_bytes = std::fmin(kWordBytes / rate, 1e18);
  return "one sample per " + report::Amount(ProfileKind::kAlloc, std::llround(gap_bytes));
}

constexpr double kStopSeconds = 10;
constexpr double kRestSeconds = 1;

bool Records(const PageClient& client) {
  const auto state = client.Read();
  return state.ok() && state->state == State::kRecording;
}

}  // namespace

absl::StatusOr<Conversation> Ask(PageClient& client, const Order& order, double wait_seconds) {
  return AskEach({&client}, order, wait_seconds)[0];
}

std::vector<absl::StatusOr<Conversation>> AskEach(const std::vector<PageClient*>& clients,
                                                  const Order& order, double wait_seconds) {
  std::vector<Question> questions;
  for (PageClient* const client : clients) questions.emplace_back(client, order);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(wait_seconds));
  auto end = deadline;
  for (;;) {
    const Progress progress = LookAt(questions);
    if (progress.open == 0 || Clock::now() >= end) break;
    if (progress.is_answered) end = std::min(deadline, Clock::now() + kRestWait);
    std::this_thread::sleep_for(kStep);
  }
  std::vector<absl::StatusOr<Conversation>> talks;
  for (Question& question : questions) talks.push_back(std::move(question.talk));
  return talks;
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

OwnRecording::Clients OwnRecording::Descendants() const {
  return for_children_ ? PagesOfDescendants(pid_) : Clients();
}

absl::StatusOr<bool> OwnRecording::Begin(const Order& start, double wait_seconds) {
  auto parent = PageClient::Open(pid_);
  if (!parent.ok()) {
    const auto found = FindRecording(pid_);
    if (found.ok() && found->running.pid != 0) return true;  // from its start on
    return parent.status();
  }
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
