#include "tools/report/table/layout.h"

#include <algorithm>

namespace allomon::views {
namespace {

constexpr int kLeastRows = 5;

}  // namespace

size_t RowsOf(const Options& options, const report::Terminal& terminal, int other_lines) {
  if (options.top.has_value()) return *options.top;
  if (options.format != Format::kTable) return 0;
  if (!terminal.is_terminal || terminal.lines == 0) return kDefaultRows;
  return static_cast<size_t>(std::max(terminal.lines - other_lines, kLeastRows));
}

int ColumnsOf(const Options& options, const report::Terminal& terminal) {
  return options.width.value_or(terminal.is_terminal ? terminal.columns : 0);
}

bool IsColored(const Options& options, const report::Terminal& terminal) {
  return options.color == Color::kAlways ||
         (options.color == Color::kAuto && terminal.color_wanted);
}

}  // namespace allomon::views
