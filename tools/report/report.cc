#include "tools/report/report.h"

#include <algorithm>

#include "tools/mlmon/debug_file_names.h"
#include "tools/mlmon/inputs.h"
#include "tools/report/flat/data_report.h"
#include "tools/report/flat/functions.h"
#include "tools/report/flat/options.h"
#include "tools/report/flat/suggestion.h"
#include "tools/report/flat/text_report.h"
#include "tools/report/picture/picture.h"
#include "tools/report/table/options.h"
#include "tools/report/views/views.h"
#include "tools/text/amounts.h"
#include "tracker/formats/write_file.h"

namespace allomon::report {
namespace {

constexpr int kPictureMode = 0666;  // the umask applies, as for any created file
constexpr size_t kDefaultRows = 20;
constexpr int kOtherLines = 6;  // for the heads, the line of the rest and the next prompt
constexpr size_t kLeastRows = 5;

// A message with names that files or programs chose, made harmless for the terminal.
std::string Message(const std::string& line, const Terminal& terminal) {
  return "allomon report: " + Printable(line, terminal.charset) + "\n";
}

// For programs all rows, for people as many as they see without scrolling.
size_t RowsOf(const Options& options, const Terminal& terminal) {
  if (options.top.has_value()) return *options.top;
  if (options.format != Format::kTable) return 0;
  if (!terminal.is_terminal || terminal.lines == 0) return kDefaultRows;
  return static_cast<size_t>(std::max<int>(terminal.lines - kOtherLines, kLeastRows));
}

size_t PictureRows(const Options& options) { return options.top.value_or(kDefaultRows); }

TextStyle StyleOf(const Options& options, const Terminal& terminal) {
  TextStyle style;
  style.rows = RowsOf(options, terminal);
  style.width = options.width.value_or(terminal.is_terminal ? terminal.columns : 0);
  style.whole_names = options.width == 0;
  style.colored =
      options.color == Color::kAlways || (options.color == Color::kAuto && terminal.color_wanted);
  style.charset = terminal.charset;
  return style;
}

bool NeedsStack(const Options& options) {
  return options.sort == SortKey::kStack || options.sort == SortKey::kGc;
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

  CommandResult Make() const {
    std::string error;
    if (!options_.picture.empty() &&
        !WriteFileAtomically(options_.picture, Picture(), kPictureMode, &error)) {
      return {2, "", Message(error, terminal_)};
    }
    return {0, Text(), ""};
  }

 private:
  std::string Text() const {
    const size_t rows = RowsOf(options_, terminal_);
    if (options_.format == Format::kJson) return ToJson(input_, rows_, rows);
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

CommandResult ReportPair(const Options& options, const Terminal& terminal, const Pair& pair) {
  for (const Profile* profile : {&pair.before, &pair.after}) {
    const std::string lack = LackOfStack(options, *profile);
    if (!lack.empty()) return {2, "", Message(lack, terminal)};
  }
  const bool has_stack = pair.before.data.style == ProfileStyle::kStack &&
                         pair.after.data.style == ProfileStyle::kStack;
  const Order order = OrderOf(options, has_stack ? ProfileStyle::kStack : ProfileStyle::kCurrent);
  std::vector<Change> changes = Changes(pair, order);
  // Programs get changes of all the numbers that they are given.
  if (options.format == Format::kTable || !has_stack) RemoveUnchanged(order.key, &changes);
  return Output<Pair, Change>(options, terminal, pair, changes, order.key).Make();
}

CommandResult ReportSum(const Options& options, const Terminal& terminal, const Profile& profile) {
  std::string lack = LackOfStack(options, profile);
  if (!lack.empty()) return {2, "", Message(lack, terminal)};
  const Order order = OrderOf(options, profile.data.style);
  const std::vector<Function> functions = Functions(profile, order);
  CommandResult result =
      Output<Profile, Function>(options, terminal, profile, functions, order.key).Make();
  const std::string advice = SuggestWrapper(profile);
  if (options.format == Format::kTable && !advice.empty()) {
    result.out += "\n" + Printable(advice, terminal.charset) + "\n";
  }
  lack = LackOfSum(profile, functions);
  if (result.status == 0 && !lack.empty()) {
    result.status = 2;  // the report is shown as far as it got
    result.err = Message(lack, terminal);
  }
  return result;
}

CommandResult ReportMlmon(const std::vector<std::string>& args, const Terminal& terminal) {
  const auto options = ParseOptions(args);
  const auto bad = [&terminal](const absl::Status& status) {
    return CommandResult{2, "", Message(std::string(status.message()), terminal)};
  };
  if (!options.ok()) return bad(options.status());
  if (options->help) return {0, std::string(kUsage) + "\n" + views::kReportUsage, ""};
  Progress progress(terminal.shows_progress);
  const auto name = [&options, &progress](Profile* profile) {
    progress.Show("looking for lines");
    NameByDebugFiles(options->debug_dir, profile);
  };
  if (options->diff) {
    auto pair = LoadPair(options->files, &progress);
    if (!pair.ok()) return bad(pair.status());
    name(&pair->before);
    name(&pair->after);
    return ReportPair(*options, terminal, *pair);
  }
  auto profile = LoadSum(options->files, &progress);
  if (!profile.ok()) return bad(profile.status());
  name(&*profile);
  return ReportSum(*options, terminal, *profile);
}

}  // namespace

CommandResult RunReport(const std::vector<std::string>& args, const Terminal& terminal) {
  std::vector<std::string> rest = args;
  auto of_heap = views::TryReport(&rest, terminal);
  return of_heap ? *std::move(of_heap) : ReportMlmon(rest, terminal);
}

CommandResult RunDiff(const std::vector<std::string>& args, const Terminal& terminal) {
  auto of_heap = views::TryDiff(args, terminal);
  if (of_heap) return *std::move(of_heap);
  std::vector<std::string> rest = {"--diff"};
  rest.insert(rest.end(), args.begin(), args.end());
  return RunReport(rest, terminal);
}

}  // namespace allomon::report
