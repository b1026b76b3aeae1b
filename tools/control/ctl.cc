#include <vector>

#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/family.h"
#include "tools/control/options.h"
#include "tools/control/result.h"
#include "tools/options/documents.h"

namespace allomon::control {
namespace {

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
