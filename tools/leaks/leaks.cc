#include "tools/leaks/leaks.h"

#include <utility>

#include "absl/status/statusor.h"
#include "tools/leaks/unreachable.h"
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

}  // namespace

const options::CommandText& LeaksText() { return views::TableOf(kCommand).Text(); }

CommandResult RunLeaks(const std::vector<std::string>& args, const report::Terminal& terminal) {
  auto options = views::ParseOptions(args, kCommand);
  if (!options.ok()) return Failed(options.status());
  const auto answer = options::AnswerTo(*options, LeaksText());
  if (answer.has_value()) return *answer;
  const auto pid = PidOf(*options);
  if (!pid.ok()) return Failed(pid.status());
  options->command = "leaks";
  const auto found = FindUnreachable(*pid, options->debug_dir);
  if (!found.ok()) {
    return Failed(absl::Status(found.status().code(), "process " + options->files[0] + ": " +
                                                          std::string(found.status().message())));
  }
  auto text = views::ShowProfile(found->profile, *options, terminal);
  if (!text.ok()) return Failed(text.status());
  return {found->unreachable_blocks > 0 ? 1 : 0, *std::move(text), ""};
}

}  // namespace allomon::leaks
