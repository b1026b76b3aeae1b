#include "tools/control/family.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/control/conversation.h"
#include "tools/control/result.h"

namespace allomon::control {
namespace {

void Merge(const CommandResult& more, CommandResult* result) {
  result->status = std::max(result->status, more.status);
  result->out += more.out;
  result->err += more.err;
}

// True if the process is in the requested state, although it refused the request.
bool IsSo(const std::string& verb, const PageState& state) {
  if (verb == "start") return state.state == State::kRecording;
  return verb == "stop" && state.state == State::kIdle;
}

// Sums up the answers of all processes.
class Answers {
 public:
  explicit Answers(const std::string& verb) : verb_(verb) {}

  void Add(const PageClient& client, const absl::StatusOr<Conversation>& talk) {
    ++asked_;
    if (!talk.ok()) return AddFailure(client, talk.status());
    if (!talk->is_answered) {
      ++silent_;
    } else if (talk->is_refused && !IsSo(verb_, talk->state)) {
      Merge(Failed(kCtl, RefusalOf(client, talk->state)), &result_);
    } else {
      Merge({0, LineOf(kCtl, Describe(client, talk->state)), ""}, &result_);
    }
  }

  CommandResult Result() const {
    CommandResult result = result_;
    if (silent_ == 0) return result;
    const bool is_nobody_else = silent_ + ended_ == asked_;
    Merge({is_nobody_else ? kUnansweredStatus : 0, "", LineOf(kCtl, WhoIsSilent())}, &result);
    return result;
  }

 private:
  // Ignores the failure if the process has ended: a worker may end while it is asked.
  void AddFailure(const PageClient& client, const absl::Status& status) {
    if (!FactsOf(client.process().pid)) {
      ++ended_;
    } else {
      Merge(Failed(kCtl, status), &result_);
    }
  }

  std::string WhoIsSilent() const {
    return std::to_string(silent_) + " of " + std::to_string(asked_) +
           " processes have not answered: they do what was asked when a thread of theirs has " +
           "allocated 8 MiB";
  }

  const std::string verb_;
  CommandResult result_;
  int asked_ = 0;
  int silent_ = 0;
  int ended_ = 0;
};

CommandResult ShowPages(const std::vector<PageClient*>& clients) {
  CommandResult result;
  for (const PageClient* const client : clients) Merge(ShowPage(*client), &result);
  return result;
}

}  // namespace

Order OrderOf(const CtlOptions& options) {
  Order order;
  order.verb = options.verb == "start"  ? Verb::kStart
               : options.verb == "stop" ? Verb::kStop
                                        : Verb::kRestart;
  order.for_children = options.all_children;
  order.rate = options.rate.samples_per_word.value_or(-1);
  order.limit_bytes = options.limit_bytes;
  order.path = options.path;
  return order;
}

absl::Status RefusalOf(const PageClient& client, const PageState& state) {
  return absl::FailedPreconditionError("process " + std::to_string(client.process().pid) +
                                       " refuses: " + state.refusal);
}

CommandResult ShowPage(const PageClient& client) {
  const auto state = client.Read();
  if (!state.ok()) return Failed(kCtl, state.status());
  return {0, LineOf(kCtl, Describe(client, *state)), ""};
}

CommandResult AskFamily(const CtlOptions& options, PageClient& parent) {
  const auto descendants = PagesOfDescendants(options.pid);
  std::vector<PageClient*> clients = Pointers(descendants);
  clients.insert(clients.begin(), &parent);
  if (options.verb == "status") return ShowPages(clients);
  const auto talks = AskEach(clients, OrderOf(options), options.wait_seconds);
  Answers answers(options.verb);
  for (size_t i = 0; i < clients.size(); ++i) answers.Add(*clients[i], talks[i]);
  return answers.Result();
}

}  // namespace allomon::control
