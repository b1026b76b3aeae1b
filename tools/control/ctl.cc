#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/options.h"
#include "tools/control/page_client.h"
#include "tools/options/command_text.h"
#include "tools/options/documents.h"

namespace allomon::control {
namespace {

constexpr char kCtl[] = "ctl";

// Returns "process 4711 refuses: it does not record".
absl::Status RefusalOf(const PageClient& client, const PageState& state) {
  return absl::FailedPreconditionError("process " + std::to_string(client.process().pid) +
                                       " refuses: " + state.refusal);
}

// Returns one line that says what the process does.
CommandResult ShowPage(const PageClient& client) {
  const auto state = client.Read();
  if (!state.ok()) return Failed(kCtl, state.status());
  return {0, LineOf(kCtl, Describe(client, *state)), ""};
}

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

// Asks `parent` and those of its descendants that have a page.  Other descendants create one when
// they first look for requests, and then do the same.  A process that is already in the requested
// state, or that has ended, is no failure.  Status 1: no process has answered.
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

std::string WhyUnanswered(const PageClient& client, const PageState& state) {
  const std::string process = "process " + std::to_string(client.process().pid);
  std::string text = process + " has not answered yet: a thread of it looks once in about 8 MiB " +
                     "that it allocates, and does what was asked then";
  if (state.looks == 0) text += "; it has not looked so far";
  return text;
}

CommandResult AskOne(const CtlOptions& options, PageClient& client) {
  if (options.verb == "status") return ShowPage(client);
  const auto talk = Ask(client, OrderOf(options), options.wait_seconds);
  if (!talk.ok()) return Failed(kCtl, talk.status());
  if (!talk->is_answered) {
    return {kUnansweredStatus, "", LineOf(kCtl, WhyUnanswered(client, talk->state))};
  }
  if (talk->is_refused) return Failed(kCtl, RefusalOf(client, talk->state));
  return {0, LineOf(kCtl, Describe(client, talk->state)), ""};
}

CommandResult AskAll(const CtlOptions& options) {
  const auto client = PageClient::Open(options.pid);
  if (!client.ok()) return Failed(kCtl, client.status());
  return options.all_children ? AskFamily(options, **client) : AskOne(options, **client);
}

}  // namespace

const options::CommandText& CtlText() { return CtlCommand().Text(); }

CommandResult RunCtl(const std::vector<std::string>& args) {
  const auto options = ParseCtlOptions(args);
  if (!options.ok()) return Failed(kCtl, options.status());
  const auto answer = options::AnswerTo(*options, CtlCommand().Text());
  if (answer.has_value()) return *answer;
  return AskAll(*options);
}

}  // namespace allomon::control
