#include "tools/leaks/leaks.h"

#include <utility>

#include "absl/status/statusor.h"
#include "tools/heap/stacks.h"
#include "tools/leaks/search.h"
#include "tools/leaks/suppressions.h"
#include "tools/leaks/unreachable.h"
#include "tools/leaks/why.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"

namespace allomon::leaks {
namespace {

using options::Bad;

constexpr views::Command kCommand = views::Command::kLeaks;

absl::StatusOr<uint32_t> PidOf(const views::Options& options) {
  if (options.files.empty()) return Bad("name a process by its id; allomon list shows some");
  if (options.files.size() > 1) return Bad("one process at a time: \"" + options.files[1] + "\"");
  uint32_t pid = 0;
  if (options::ParseNumber(options.files[0], &pid) && pid != 0 && pid <= INT32_MAX) return pid;
  return Bad("\"" + options.files[0] + "\" is not the id of a process; allomon list shows some");
}

CommandResult Failed(const absl::Status& status) {
  return {2, "", "allomon leaks: " + std::string(status.message()) + "\n"};
}
CommandResult Failed(const absl::Status& status, uint32_t pid) {
  return Failed(absl::Status(
      status.code(), "process " + std::to_string(pid) + ": " + std::string(status.message())));
}

CommandResult ShowLost(Search* search, const views::Options& options,
                       const report::Terminal& terminal) {
  const auto found = FindUnreachable(search, options.only_direct, options.debug_dir);
  if (!found.ok()) return Failed(found.status(), search->process().pid());
  auto text = views::ShowProfile(found->profile, options, terminal);
  if (!text.ok()) return Failed(text.status());
  const bool is_shown = !heap::StacksOf(found->profile, options.selection).stacks.empty();
  return {is_shown ? 1 : 0, *std::move(text), ""};
}

absl::Status CheckWhy(const views::Options& options) {
  if (options.only_direct) return Bad("--why and --direct: give one of them");
  if (options.format != views::Format::kTable) return Bad("--why: paths are shown as text alone");
  if (options.view.has_value()) return Bad("--why and --view: give one of them");
  if (!options.by_label.empty()) return Bad("--why and --by: give one of them");
  return absl::OkStatus();
}

CommandResult ShowWhy(Search* search, const views::Options& options) {
  const auto reasons = FindReasons(search, options.selection, options.debug_dir);
  const uint32_t pid = search->process().pid();
  if (!reasons.ok()) return Failed(reasons.status(), pid);
  if (reasons->empty()) {
    return Failed(absl::NotFoundError("no sampled block is alive whose call stack has a function "
                                      "like " +
                                      options.why +
                                      "; allomon report --metric=live "
                                      "shows which there are"),
                  pid);
  }
  constexpr size_t kShown = 10;
  return {0, ReasonsText(*reasons, options.top.value_or(kShown)), ""};
}

}  // namespace

const options::CommandText& LeaksText() { return views::TableOf(kCommand).Text(); }

CommandResult RunLeaks(const std::vector<std::string>& args, const report::Terminal& terminal) {
  auto options = views::ParseOptions(args, kCommand);
  if (!options.ok()) return Failed(options.status());
  const auto answer = options::AnswerTo(*options, LeaksText());
  if (answer.has_value()) return *answer;
  const auto pid = PidOf(*options);
  if (!pid.ok()) return Failed(pid.status());
  const bool asks_why = !options->why.empty();
  const absl::Status status = asks_why ? CheckWhy(*options) : absl::OkStatus();
  if (!status.ok()) return Failed(status);
  options->command = "leaks";
  for (const std::string& path : options->suppressions) {
    const absl::Status added = AddSuppressions(path, &options->selection.ignore);
    if (!added.ok()) return Failed(added);
  }
  Search search(*pid);
  const absl::Status taken = search.Take();
  if (!taken.ok()) return Failed(taken, *pid);
  search.Mark(asks_why);
  return asks_why ? ShowWhy(&search, *options) : ShowLost(&search, *options, terminal);
}

}  // namespace allomon::leaks
