#include "tools/leaks/leaks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/heap/stacks.h"
#include "tools/leaks/search.h"
#include "tools/leaks/why.h"
#include "tools/load/read_bytes.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"
#include "tools/text/amounts.h"

namespace allomon::leaks {
namespace {

using options::Bad;

// ---- Suppressions, in the form of the leak sanitizer's and heaptrack's files.

constexpr char kKind[] = "leak:";
constexpr size_t kMostBytes = size_t{1} << 20;

// Returns a regular expression that matches anywhere.
std::string ExpressionOf(std::string_view text) {
  constexpr char kSpecial[] = ".[](){}*+?|\\^$";
  std::string expression;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_begin = text[i] == '^' && i == 0, is_end = text[i] == '$' && i + 1 == text.size();
    if (text[i] == '*') {
      // Two of them would be an error of the expression's.
      if (i == 0 || text[i - 1] != '*') expression += "(.*)";
    } else if (is_begin || is_end) {
      expression += text[i];
    } else {
      if (strchr(kSpecial, text[i]) != nullptr) expression += '\\';
      expression += text[i];
    }
  }
  return expression;
}

std::string_view Trimmed(std::string_view line) {
  constexpr char kBlank[] = " \t\r";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

absl::Status AddLine(std::string_view line, heap::Patterns* patterns) {
  line = Trimmed(line);
  if (line.empty() || line[0] == '#') return absl::OkStatus();
  if (line.substr(0, strlen(kKind)) != kKind) return Bad("give leak:TEXT");
  const std::string_view text = Trimmed(line.substr(strlen(kKind)));
  if (text.empty() || text == "^") return Bad("leak: needs a text");
  return patterns->Add(ExpressionOf(text));
}

// Adds a pattern for each line "leak:TEXT" of the file: it matches names and files with that text
// in them, where `*` is any text, `^` at the text's begin the name's begin, and `$` its end.  Empty
// lines and those that begin with `#` are left out.  Fails with one line that names the file and
// the line.
absl::Status AddSuppressions(const std::string& path, heap::Patterns* patterns) {
  const auto text = load::ReadBytes(path, kMostBytes);
  if (!text.ok()) return text.status();
  size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const absl::Status status = AddLine(rest.substr(0, end), patterns);
    ++number;
    if (!status.ok()) {
      return Bad(path + ", line " + std::to_string(number) + ": " + std::string(status.message()));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return absl::OkStatus();
}

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
  note += "; the process stood for " + report::SecondsText(search.stopped_seconds());
  if (search.sleeping_threads() == 0) return note;
  return note + "; registers of " + std::to_string(search.sleeping_threads()) +
         " threads are not known, since they sleep in the kernel";
}

// The profile leaves out blocks to which others lead if `only_direct` is set.
absl::StatusOr<Lost> FindLost(Search* search, bool only_direct, const std::string& debug_dir) {
  std::vector<size_t> places;
  std::vector<Blocks::Block> lost;
  for (size_t place = 0; place < search->sampled().size(); ++place) {
    const SampledBlock& sampled = search->sampled()[place];
    if (search->IsReached(sampled)) continue;
    places.push_back(place);
    lost.push_back(sampled.block);
  }
  const std::vector<bool> is_direct = FindDirectlyLost(search->snapshot(), lost, &search->blocks());
  Lost found;
  found.blocks = places.size();
  found.directly = static_cast<uint64_t>(std::count(is_direct.begin(), is_direct.end(), true));
  std::vector<size_t> shown;
  for (size_t i = 0; i < places.size(); ++i) {
    if (is_direct[i] || !only_direct) shown.push_back(places[i]);
  }
  auto profile = search->ProfileOf(shown, debug_dir);
  if (!profile.ok()) return profile.status();
  found.profile = *std::move(profile);
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
  const auto found = FindLost(search, options.only_direct, options.debug_dir);
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
