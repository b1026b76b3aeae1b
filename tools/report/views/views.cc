#include "tools/report/views/views.h"

#include <algorithm>

#include "tools/report/table/data_output.h"
#include "tools/report/table/load_files.h"
#include "tools/report/table/options.h"
#include "tools/report/table/text_output.h"
#include "tools/report/views/diff_view.h"
#include "tools/report/views/view.h"
#include "tools/text/plain_text.h"

namespace allomon::views {
namespace {

using report::Progress;
using report::Terminal;
using Arguments = std::vector<std::string>;

constexpr size_t kDefaultRows = 20;
constexpr int kOtherLines = 16;  // for the head, the heads of columns, a stack, the next prompt
constexpr size_t kLeastRows = 5;
constexpr int kDefaultColumns = 80;
constexpr int kMostPlotColumns = 120;

CommandResult Failed(const char* command, const absl::Status& status, const Terminal& terminal) {
  const std::string line = std::string(command) + ": " + std::string(status.message());
  return {2, "", Printable(line, terminal.charset) + "\n"};
}

// For programs all rows, for people as many as they see without scrolling.
size_t RowsOf(const Options& options, const Terminal& terminal) {
  if (options.top.has_value()) return *options.top;
  if (options.format != Format::kTable) return 0;
  if (!terminal.is_terminal || terminal.lines == 0) return kDefaultRows;
  return static_cast<size_t>(std::max<int>(terminal.lines - kOtherLines, kLeastRows));
}

TextStyle StyleOf(const Options& options, const Terminal& terminal) {
  TextStyle style;
  style.width = options.width.value_or(terminal.is_terminal ? terminal.columns : 0);
  style.whole_names = options.width == 0;
  style.colored =
      options.color == Color::kAlways || (options.color == Color::kAuto && terminal.color_wanted);
  style.charset = terminal.charset;
  return style;
}

Space SpaceOf(const Options& options, const Terminal& terminal) {
  const int width = StyleOf(options, terminal).width;
  return {RowsOf(options, terminal),
          width > 0 ? std::min(width, kMostPlotColumns) : kDefaultColumns, terminal.charset};
}

std::string Output(const Report& report, const Options& options, const Terminal& terminal) {
  if (options.format == Format::kJson) return ToJson(report);
  if (options.format == Format::kCsv) return ToCsv(report);
  return ToText(report, StyleOf(options, terminal));
}

struct Kinds {
  std::string heap;  // a file of each kind; empty: there is none
  std::string mlmon;
};

Kinds KindsOf(const Arguments& files) {
  Kinds kinds;
  for (const std::string& file : files) {
    const FileKind kind = KindOf(file);
    if (kind == FileKind::kHeapProfile) kinds.heap = file;
    if (kind == FileKind::kMlmon) kinds.mlmon = file;
  }
  return kinds;
}

absl::Status Mixed(const Kinds& kinds) {
  return absl::InvalidArgumentError(kinds.mlmon + " is an mlmon.out, " + kinds.heap +
                                    " a profile with call stacks: give files of one kind");
}

CommandResult ReportHeap(const Arguments& args, const Terminal& terminal) {
  const char* const command = "allomon report";
  const auto options = ParseOptions(args, Command::kReport);
  if (!options.ok()) return Failed(command, options.status(), terminal);
  Progress progress(terminal.shows_progress);
  const auto profile = LoadSum(options->files, options->debug_dir, &progress);
  if (!profile.ok()) return Failed(command, profile.status(), terminal);
  const auto report = ReportOf(*profile, *options, SpaceOf(*options, terminal));
  if (!report.ok()) {
    return Failed(command,
                  absl::InvalidArgumentError(options->files[0] + ": " +
                                             std::string(report.status().message())),
                  terminal);
  }
  return {0, Output(*report, *options, terminal), ""};
}

CommandResult DiffHeap(const Options& options, const Terminal& terminal) {
  const char* const command = "allomon diff";
  Progress progress(terminal.shows_progress);
  const auto before = LoadSum({options.files[0]}, options.debug_dir, &progress);
  if (!before.ok()) return Failed(command, before.status(), terminal);
  const auto after = LoadSum({options.files[1]}, options.debug_dir, &progress);
  if (!after.ok()) return Failed(command, after.status(), terminal);
  const auto difference = DifferenceOf(*before, *after, options, SpaceOf(options, terminal));
  if (!difference.ok()) return Failed(command, difference.status(), terminal);
  const int status = options.fail_on_growth && difference->grew ? 1 : 0;
  return {status, Output(difference->report, options, terminal), ""};
}

bool AsksForHelp(const Arguments& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end,
                     [](const std::string& arg) { return arg == "--help" || arg == "-h"; });
}

}  // namespace

std::optional<CommandResult> TryReport(Arguments* args, const Terminal& terminal) {
  if (AsksForHelp(*args)) return std::nullopt;
  const Arguments files = FilesOf(*args);
  const Kinds kinds = KindsOf(files);
  if (!kinds.heap.empty() && !kinds.mlmon.empty()) {
    return Failed("allomon report", Mixed(kinds), terminal);
  }
  if (!kinds.heap.empty()) return ReportHeap(*args, terminal);
  if (!HasHeapOptions(*args)) return std::nullopt;
  // Of a file that is neither, the reader of heap profiles says what it is.
  if (kinds.mlmon.empty() && !files.empty()) return ReportHeap(*args, terminal);
  auto rest = ForMlmon(*args, kinds.mlmon.empty() ? "mlmon.out" : kinds.mlmon);
  if (!rest.ok()) return Failed("allomon report", rest.status(), terminal);
  *args = *std::move(rest);
  return std::nullopt;
}

std::optional<CommandResult> TryDiff(const Arguments& args, const Terminal& terminal) {
  if (AsksForHelp(args)) return CommandResult{0, kDiffUsage, ""};
  const Kinds kinds = KindsOf(FilesOf(args));
  if (!kinds.mlmon.empty() && !kinds.heap.empty()) {
    return Failed("allomon diff", Mixed(kinds), terminal);
  }
  if (!kinds.mlmon.empty()) return std::nullopt;
  const auto options = ParseOptions(args, Command::kDiff);
  if (!options.ok()) return Failed("allomon diff", options.status(), terminal);
  if (options->files.size() != 2) {
    return Failed("allomon diff",
                  absl::InvalidArgumentError("two profiles are compared; " +
                                             std::to_string(options->files.size()) +
                                             " given: allomon diff BEFORE AFTER"),
                  terminal);
  }
  return DiffHeap(*options, terminal);
}

}  // namespace allomon::views
