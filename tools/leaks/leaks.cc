#include "tools/leaks/leaks.h"

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/heap/stacks.h"
#include "tools/leaks/roots.h"
#include "tools/leaks/search.h"
#include "tools/leaks/suppressions.h"
#include "tools/leaks/why.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"
#include "tools/text/amounts.h"

namespace allomon::leaks {
namespace {

using options::Bad;

// ---- Lost blocks.

// The sampled blocks that nothing refers to.
struct Lost {
  heap::HeapProfile profile;  // only these blocks, as live ones
  uint64_t blocks = 0;
  uint64_t directly = 0;  // of these: no other one of them leads to it
};

std::string NoteOf(const Lost& found, const Search& search) {
  std::string note =
      "only sampled blocks to which nothing refers: " + std::to_string(found.blocks) + " of " +
      std::to_string(search.sampled().size());
  if (found.directly < found.blocks) {
    note += ", " + std::to_string(found.directly) + " of them directly lost (--direct)";
  }
  return note + search.StoodText();
}

// The profile leaves out blocks to which others lead if `only_direct` is set.
absl::StatusOr<Lost> FindLost(Search* search, const views::Options& options) {
  Lost found;
  std::vector<size_t> shown;
  for (const LostBlock& block : search->FindLost()) {
    ++found.blocks;
    if (block.is_direct) ++found.directly;
    if (block.is_direct || !options.only_direct) shown.push_back(block.sampled);
  }
  auto profile = search->ProfileOf(shown, options.name_sources);
  if (!profile.ok()) return profile.status();
  found.profile = *std::move(profile);
  RemoveModules(options.suppressed, &found.profile);
  found.profile.notes.push_back(NoteOf(found, *search));
  return found;
}

// ---- The command.

constexpr views::Command kCommand = views::Command::kLeaks;

absl::StatusOr<uint32_t> PidOf(const views::Options& options) {
  if (options.files.empty()) return Bad("name a process by its id; allomon list shows some");
  if (options.files.size() > 1) return Bad("one process at a time: \"" + options.files[1] + "\"");
  uint32_t pid = 0;
  const absl::Status status = options::ParsePid(options.files[0], &pid);
  if (!status.ok()) return status;
  return pid;
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
  const auto found = FindLost(search, options);
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

absl::Status CheckRoots(const views::Options& options) {
  if (options.only_direct) return Bad("--roots and --direct: give one of them");
  if (!options.why.empty()) return Bad("--roots and --why: give one of them");
  if (options.format != views::Format::kTable) return Bad("--roots: shown as text alone");
  if (options.view.has_value()) return Bad("--roots and --view: give one of them");
  if (!options.by_label.empty()) return Bad("--roots and --by: give one of them");
  return absl::OkStatus();
}

absl::Status Check(const views::Options& options) {
  if (options.roots) return CheckRoots(options);
  return options.why.empty() ? absl::OkStatus() : CheckWhy(options);
}

CommandResult ShowWhy(Search* search, const views::Options& options) {
  const auto reasons = FindReasons(search, options.selection, options.name_sources);
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
  const absl::Status status = Check(*options);
  if (!status.ok()) return Failed(status);
  options->command = "leaks";
  for (const std::string& path : options->suppressions) {
    absl::Status added = AddSuppressions(path, &options->selection.ignore);
    if (added.ok()) added = AddSuppressions(path, &options->suppressed);
    if (!added.ok()) return Failed(added);
  }
  Search search(*pid);
  const absl::Status taken = search.Take();
  if (!taken.ok()) return Failed(taken, *pid);
  search.Mark(asks_why);
  if (options->roots) return {0, search.roots().Text(), ""};
  return asks_why ? ShowWhy(&search, *options) : ShowLost(&search, *options, terminal);
}

}  // namespace allomon::leaks
