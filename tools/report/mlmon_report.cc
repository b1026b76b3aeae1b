#include "tools/report/mlmon_report.h"

#include <optional>

#include "tools/mlmon/debug_file_names.h"
#include "tools/mlmon/inputs.h"
#include "tools/report/flat/functions.h"
#include "tools/report/flat/origin.h"
#include "tools/report/flat/reports.h"
#include "tools/report/picture/picture.h"
#include "tools/report/table/layout.h"
#include "tools/text/amounts.h"
#include "tracker/formats/write_file.h"

namespace allomon::report {
namespace {

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

}  // namespace

absl::StatusOr<MlmonReport> ReportMlmon(const Options& options, const Terminal& terminal) {
  Progress progress(terminal.shows_progress);
  const auto name = [&options, &progress](Profile* profile) {
    progress.Show("looking for lines");
    NameByDebugFiles(options.debug_dir, profile);
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

}  // namespace allomon::report
