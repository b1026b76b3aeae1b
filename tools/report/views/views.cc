#include "tools/report/views/views.h"

#include <algorithm>

#include "tools/heap/born.h"
#include "tools/report/table/layout.h"
#include "tools/report/table/load_files.h"
#include "tools/report/table/outputs.h"
#include "tools/report/views/diff_view.h"
#include "tools/report/views/view.h"

namespace allomon::views {
namespace {

using report::Progress;
using report::Terminal;

constexpr int kOtherLines = 16;  // for the head, the heads of columns, a stack, the next prompt
constexpr int kDefaultColumns = 80;
constexpr int kMostPlotColumns = 120;

TextStyle StyleOf(const Options& options, const Terminal& terminal) {
  TextStyle style;
  style.width = ColumnsOf(options, terminal);
  style.whole_names = options.width == 0;
  style.colored = IsColored(options, terminal);
  style.charset = terminal.charset;
  return style;
}

Space SpaceOf(const Options& options, const Terminal& terminal) {
  const int width = ColumnsOf(options, terminal);
  return {RowsOf(options, terminal, kOtherLines),
          width > 0 ? std::min(width, kMostPlotColumns) : kDefaultColumns, terminal.charset};
}

std::string Output(const Report& report, const Options& options, const Terminal& terminal) {
  if (options.format == Format::kJson) return ToJson(report, options.most_bytes);
  if (options.format == Format::kCsv) return ToCsv(report);
  return ToText(report, StyleOf(options, terminal));
}

// A possible reason of an error, besides the file.
std::string PartText(const Options& options) {
  if (options.outlived.is_asked)
    return " (--outlived keeps live blocks alone, and not all of them)";
  if (!options.born.is_all()) return " (--born keeps live blocks alone, and not all of them)";
  return "";
}

}  // namespace

absl::StatusOr<std::string> ShowSum(const Options& options, const Terminal& terminal) {
  Progress progress(terminal.shows_progress);
  auto profile = LoadSum(options.files, options.name_sources, &progress);
  if (!profile.ok()) return profile.status();
  std::string why_not = heap::KeepBorn(options.born, &*profile);
  if (why_not.empty()) why_not = heap::KeepOutlived(options.outlived, &*profile);
  if (!why_not.empty()) return absl::InvalidArgumentError(options.files[0] + ": " + why_not);
  const auto report = ReportOf(*profile, options, SpaceOf(options, terminal));
  if (!report.ok()) {
    return absl::InvalidArgumentError(options.files[0] + ": " +
                                      std::string(report.status().message()) + PartText(options));
  }
  return Output(*report, options, terminal);
}

absl::StatusOr<std::string> ShowProfile(const heap::HeapProfile& profile, const Options& options,
                                        const Terminal& terminal) {
  const auto report = ReportOf(profile, options, SpaceOf(options, terminal));
  if (!report.ok()) return report.status();
  return Output(*report, options, terminal);
}

absl::StatusOr<ShownDifference> ShowDifference(const Options& options, const Terminal& terminal) {
  Progress progress(terminal.shows_progress);
  const auto before = LoadSum({options.files[0]}, options.name_sources, &progress);
  if (!before.ok()) return before.status();
  const auto after = LoadSum({options.files[1]}, options.name_sources, &progress);
  if (!after.ok()) return after.status();
  const auto difference = DifferenceOf(*before, *after, options, SpaceOf(options, terminal));
  if (!difference.ok()) return difference.status();
  return ShownDifference{Output(difference->report, options, terminal), difference->grew,
                         difference->is_testable};
}

}  // namespace allomon::views
