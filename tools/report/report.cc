#include "tools/report/report.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/leaks/unreachable.h"
#include "tools/mlmon/debug_file_names.h"
#include "tools/mlmon/inputs.h"
#include "tools/options/documents.h"
#include "tools/pages/held_pages.h"
#include "tools/pages/object_types.h"
#include "tools/pages/unused_blocks.h"
#include "tools/report/flat/functions.h"
#include "tools/report/flat/origin.h"
#include "tools/report/flat/reports.h"
#include "tools/report/picture/picture.h"
#include "tools/report/table/layout.h"
#include "tools/report/table/load_files.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"
#include "tools/text/amounts.h"
#include "tools/text/terminal.h"
#include "tracker/formats/write_file.h"

namespace allomon::report {
namespace {

struct MlmonReport {
  std::string text;
  std::string damage;  // one line about numbers that do not add up; empty: they do
};

using views::Format;
using views::Options;

constexpr int kOtherLines = 6;  // for the heads, the line of the rest and the next prompt

absl::Status Bad(const std::string& line) { return absl::InvalidArgumentError(line); }

size_t PictureRows(const Options& options) { return options.top.value_or(views::kDefaultRows); }

TextStyle StyleOf(const Options& options, const Terminal& terminal) {
  TextStyle style;
  style.rows = views::RowsOf(options, terminal, kOtherLines);
  style.width = views::ColumnsOf(options, terminal);
  style.whole_names = options.width == 0;
  style.colored = views::IsColored(options, terminal);
  style.charset = terminal.charset;
  return style;
}

std::optional<SortKey> SortKeyOf(const Options& options) {
  if (!options.sort.has_value()) return std::nullopt;
  switch (*options.sort) {
    case views::SortKey::kSelf:
      return SortKey::kCurrent;
    case views::SortKey::kTotal:
      return SortKey::kStack;
    case views::SortKey::kGc:
      return SortKey::kGc;
    case views::SortKey::kName:
      return SortKey::kName;
  }
  return std::nullopt;
}

bool NeedsStack(const Options& options) {
  const auto key = SortKeyOf(options);
  return key == SortKey::kStack || key == SortKey::kGc;
}

// Why `profile` cannot be sorted as the options ask.  Empty if it can.
std::string LackOfStack(const Options& options, const Profile& profile) {
  if (!NeedsStack(options) || profile.data.style == ProfileStyle::kStack) return "";
  return profile.files.front() +
         " has no stack data to sort by: profile with ALLOMON_PROFILE=alloc,stack (or live,stack, "
         "time,stack, count,stack), or sort by cur";
}

// Every byte, tick or call belongs to some function.  A file in which the sum is another was
// changed by hand.
std::string LackOfSum(const Profile& profile, const std::vector<Function>& functions) {
  const MlmonInt sum = SumFrom(functions, 0);
  MlmonInt totals = 0;
  if (!__builtin_add_overflow(profile.data.total, profile.data.total_gc, &totals) &&
      sum == totals) {
    return "";
  }
  return "the functions of " + profile.files.front() + " add up to " + Exact(sum) +
         ", not to its totals, " + Exact(totals) + ": it is damaged; profile the program again";
}

// One profile, or a pair, with the rows that are shown.
template <typename Input, typename Row>
class Output {
 public:
  Output(const Options& options, const Terminal& terminal, const Input& input,
         const std::vector<Row>& rows, SortKey key)
      : options_(options), terminal_(terminal), input_(input), rows_(rows), key_(key) {}

  absl::StatusOr<MlmonReport> Make() const {
    std::string error;
    if (!options_.picture.empty() &&
        !WriteFileAtomically(options_.picture, Picture(), kPrivateMode, &error)) {
      return Bad(error);
    }
    return MlmonReport{Text(), ""};
  }

 private:
  std::string Text() const {
    const size_t rows = views::RowsOf(options_, terminal_, kOtherLines);
    if (options_.format == Format::kJson) {
      return ToJson(input_, rows_, Bounds{rows, options_.most_bytes});
    }
    if (options_.format == Format::kCsv) return ToCsv(input_, rows_, rows);
    return ToText(input_, rows_, key_, StyleOf(options_, terminal_));
  }

  std::string Picture() const { return Drawn(input_, rows_); }
  std::string Drawn(const Profile& profile, const std::vector<Function>& rows) const {
    return ToPicture(profile, rows, key_, PictureRows(options_));
  }
  std::string Drawn(const Pair& pair, const std::vector<Change>& rows) const {
    return ToPicture(pair, rows, key_, PictureRows(options_));
  }

  const Options& options_;
  const Terminal& terminal_;
  const Input& input_;
  const std::vector<Row>& rows_;
  const SortKey key_;
};

absl::StatusOr<MlmonReport> ReportPair(const Options& options, const Terminal& terminal,
                                       const Pair& pair) {
  for (const Profile* profile : {&pair.before, &pair.after}) {
    const std::string lack = LackOfStack(options, *profile);
    if (!lack.empty()) return Bad(lack);
  }
  const bool has_stack = pair.before.data.style == ProfileStyle::kStack &&
                         pair.after.data.style == ProfileStyle::kStack;
  const Order order =
      OrderOf(SortKeyOf(options), has_stack ? ProfileStyle::kStack : ProfileStyle::kCurrent);
  std::vector<Change> changes = Changes(pair, order);
  // Programs get changes of all the numbers that they are given.
  if (options.format == Format::kTable || !has_stack) RemoveUnchanged(order.key, &changes);
  return Output<Pair, Change>(options, terminal, pair, changes, order.key).Make();
}

absl::StatusOr<MlmonReport> ReportSum(const Options& options, const Terminal& terminal,
                                      const Profile& profile) {
  const std::string lack = LackOfStack(options, profile);
  if (!lack.empty()) return Bad(lack);
  const Order order = OrderOf(SortKeyOf(options), profile.data.style);
  const std::vector<Function> functions = Functions(profile, order);
  auto shown = Output<Profile, Function>(options, terminal, profile, functions, order.key).Make();
  if (!shown.ok()) return shown;
  const std::string advice = SuggestWrapper(profile);
  if (options.format == Format::kTable && !advice.empty()) {
    shown->text += "\n" + Printable(advice, terminal.charset) + "\n";
  }
  shown->damage = LackOfSum(profile, functions);
  return shown;
}

// The sum of the files of the options, or with Options::diff the difference of two.  Writes the
// picture.  May run the profiled program to ask for names (find_program.h).  Fails with one line.
absl::StatusOr<MlmonReport> ReportMlmon(const Options& options, const Terminal& terminal) {
  Progress progress(terminal.shows_progress);
  const auto name = [&options, &progress](Profile* profile) {
    progress.Show("looking for lines");
    NameByDebugFiles(options.name_sources.debug_dir, profile);
  };
  if (options.diff) {
    auto pair = LoadPair(options.files, &progress);
    if (!pair.ok()) return pair.status();
    name(&pair->before);
    name(&pair->after);
    return ReportPair(options, terminal, *pair);
  }
  auto profile = LoadSum(options.files, &progress);
  if (!profile.ok()) return profile.status();
  name(&*profile);
  return ReportSum(options, terminal, *profile);
}

using views::Options;

// A file of each kind; empty: there is none.
struct Kinds {
  std::string with_stacks;
  std::string mlmon;
};

Kinds KindsOf(const std::vector<std::string>& files) {
  Kinds kinds;
  for (const std::string& file : files) {
    const views::FileKind kind = views::KindOf(file);
    if (kind == views::FileKind::kHeapProfile) kinds.with_stacks = file;
    if (kind == views::FileKind::kMlmon) kinds.mlmon = file;
  }
  return kinds;
}

// One run of `allomon report` or `allomon diff`.
class Run {
 public:
  Run(views::Command command, const Terminal& terminal) : command_(command), terminal_(terminal) {}

  CommandResult Of(const std::vector<std::string>& args) const {
    auto options = views::ParseOptions(args, command_);
    if (!options.ok()) return Failed(options.status());
    const auto answer = options::AnswerTo(*options, views::TableOf(command_).Text());
    if (answer.has_value()) return *answer;
    return Show(&*options);
  }

 private:
  std::string Line(const std::string& text) const {
    return "allomon " + views::TableOf(command_).Text().name + ": " +
           Printable(text, terminal_.charset) + "\n";
  }
  CommandResult Failed(const absl::Status& status) const {
    return {2, "", Line(std::string(status.message()))};
  }

  // Of files that are neither, the reader of profiles with stacks says what they are, if that is
  // what the options are about.
  bool IsAboutStacks(const Options& options, const Kinds& kinds) const {
    if (!kinds.mlmon.empty()) return false;
    if (!kinds.with_stacks.empty() || command_ == views::Command::kDiff) return true;
    const bool wants_stacks =
        std::any_of(options.given.begin(), options.given.end(),
                    [](const options::Given& given) { return given.inputs == views::kWithStacks; });
    return wants_stacks && !options.files.empty();
  }

  // A process in the place of a file.
  static bool IsProcess(const Options& options) {
    return (options.view == views::View::kPages || options.view == views::View::kUnused ||
            options.view == views::View::kLeaks || options.view == views::View::kTypes) &&
           options.files.size() == 1 &&
           options.files[0].find_first_not_of("0123456789") == std::string::npos;
  }

  static absl::StatusOr<heap::HeapProfile> ReadProcess(const Options& options) {
    const std::string& process = options.files[0];
    if (options.view == views::View::kPages) {
      return pages::ReadHeldPages(process, options.name_sources);
    }
    if (options.view == views::View::kLeaks) {
      return leaks::ReadUnreachable(process, options.name_sources);
    }
    if (options.view == views::View::kTypes) {
      return pages::ReadObjectTypes(process, options.name_sources);
    }
    return pages::ReadUnusedBlocks(process, options.name_sources);
  }

  CommandResult ShowProcess(const Options& options) const {
    const auto profile = ReadProcess(options);
    if (!profile.ok()) return Failed(profile.status());
    auto text = views::ShowProfile(*profile, options, terminal_);
    if (text.ok()) return {0, *std::move(text), ""};
    return Failed(text.status());
  }

  CommandResult Show(Options* options) const {
    if (IsProcess(*options)) return ShowProcess(*options);
    if (options->view == views::View::kPages && options->files.empty()) {
      return Failed(absl::InvalidArgumentError(
          "--view=pages: name a process by its id; allomon list shows some"));
    }
    const Kinds kinds = KindsOf(options->files);
    if (!kinds.with_stacks.empty() && !kinds.mlmon.empty()) {
      return Failed(
          absl::InvalidArgumentError(kinds.mlmon + " is an mlmon.out, " + kinds.with_stacks +
                                     " a profile with call stacks: give files of one kind"));
    }
    if (IsAboutStacks(*options, kinds)) {
      const absl::Status status =
          views::CheckInputs(*options, views::kWithStacks, kinds.with_stacks);
      return status.ok() ? ShowStacks(*options) : Failed(status);
    }
    const std::string file = kinds.mlmon.empty() ? "mlmon.out" : kinds.mlmon;
    const absl::Status status = views::CheckInputs(*options, views::kOfMlmon, file);
    if (!status.ok()) return Failed(status);
    options->diff |= command_ == views::Command::kDiff;
    return ShowMlmon(*options);
  }

  CommandResult ShowStacks(const Options& options) const {
    if (command_ == views::Command::kReport) {
      auto text = views::ShowSum(options, terminal_);
      return text.ok() ? CommandResult{0, *std::move(text), ""} : Failed(text.status());
    }
    if (options.files.size() != 2) {
      return Failed(absl::InvalidArgumentError("two profiles are compared; " +
                                               std::to_string(options.files.size()) +
                                               " given: allomon diff BEFORE AFTER"));
    }
    auto difference = views::ShowDifference(options, terminal_);
    if (!difference.ok()) return Failed(difference.status());
    if (options.fail_on_growth && !difference->is_testable) {
      return {
          2, std::move(difference->text),
          Line("--fail-on-growth: growth cannot be told from chance, since the rate of sampling "
               "is not known of both files, or something is not in a recording: compare two "
               "whole recordings")};
    }
    const int status = options.fail_on_growth && difference->grew ? 1 : 0;
    return {status, std::move(difference->text), ""};
  }

  CommandResult ShowMlmon(const Options& options) const {
    auto report = ReportMlmon(options, terminal_);
    if (!report.ok()) return Failed(report.status());
    // A damaged file is shown, and the status says so.
    if (!report->damage.empty()) return {2, std::move(report->text), Line(report->damage)};
    return {0, std::move(report->text), ""};
  }

  const views::Command command_;
  const Terminal& terminal_;
};

}  // namespace

const options::CommandText& ReportText() { return views::TableOf(views::Command::kReport).Text(); }

const options::CommandText& DiffText() { return views::TableOf(views::Command::kDiff).Text(); }

absl::Status CheckReportOptions(const std::vector<std::string>& args) {
  return views::ParseOptions(args, views::Command::kReport).status();
}

CommandResult RunReport(const std::vector<std::string>& args, const Terminal& terminal) {
  return Run(views::Command::kReport, terminal).Of(args);
}

CommandResult RunDiff(const std::vector<std::string>& args, const Terminal& terminal) {
  return Run(views::Command::kDiff, terminal).Of(args);
}

}  // namespace allomon::report
