#include <vector>

#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/options.h"
#include "tools/control/result.h"

namespace allomon::control {
namespace {

constexpr char kCommand[] = "ctl";

Order OrderFor(const CtlOptions& options) {
  Order order;
  order.verb = options.verb == "start"  ? Verb::kStart
               : options.verb == "stop" ? Verb::kStop
                                        : Verb::kRestart;
  order.for_children = options.all_children;
  order.rate = options.rate.value_or(-1);
  order.limit_bytes = options.limit_bytes;
  order.path = options.path;
  return order;
}

void Add(CommandResult* result, const CommandResult& more) {
  result->status = std::max(result->status, more.status);
  result->out += more.out;
  result->err += more.err;
}

std::string WhyUnanswered(const PageClient& client, const PageState& state) {
  const std::string process = "process " + std::to_string(client.process().pid);
  std::string text = process + " has not answered yet: a thread of it looks once in about 8 MiB " +
                     "that it allocates, and does what was asked then";
  if (state.looks == 0) text += "; it has not looked so far";
  return text;
}

CommandResult Show(const PageClient& client) {
  const auto state = client.Read();
  if (!state.ok()) return Failed(kCommand, state.status());
  return {0, LineOf(kCommand, Describe(client, *state)), ""};
}

CommandResult AskOne(const CtlOptions& options, PageClient& client) {
  if (options.verb == "status") return Show(client);
  const auto talk = Ask(client, OrderFor(options), options.wait_seconds);
  if (!talk.ok()) return Failed(kCommand, talk.status());
  if (!talk->is_answered) {
    return {kUnansweredStatus, "", LineOf(kCommand, WhyUnanswered(client, talk->state))};
  }
  if (talk->is_refused) {
    return Failed(kCommand,
                  absl::FailedPreconditionError("process " + std::to_string(client.process().pid) +
                                                " refuses: " + talk->state.refusal));
  }
  return {0, LineOf(kCommand, Describe(client, talk->state)), ""};
}

// Children that have no page get one when they look first, and do then what was asked.
CommandResult AskChildren(const CtlOptions& options) {
  CommandResult result;
  for (const uint32_t child : DescendantsOf(options.pid)) {
    const auto client = PageClient::Open(child);
    if (client.ok()) Add(&result, AskOne(options, **client));
  }
  return result;
}

CommandResult AskAll(const CtlOptions& options) {
  const auto client = PageClient::Open(options.pid);
  if (!client.ok()) return Failed(kCommand, client.status());
  CommandResult result = AskOne(options, **client);
  if (options.all_children) Add(&result, AskChildren(options));
  return result;
}

}  // namespace

CommandResult RunCtl(const std::vector<std::string>& args) {
  const auto options = ParseCtlOptions(args);
  if (!options.ok()) return Failed(kCommand, options.status());
  if (options->help) return {0, kCtlUsage, ""};
  return AskAll(*options);
}

}  // namespace allomon::control
