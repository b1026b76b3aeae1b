// The space and the colours that a report has, by its options and its terminal.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_LAYOUT_H_
#define ALLOMON_TOOLS_REPORT_TABLE_LAYOUT_H_

#include <cstddef>

#include "tools/report/table/options.h"
#include "tools/text/terminal.h"

namespace allomon::views {

inline constexpr size_t kDefaultRows = 20;

// 0: all.  Programs get all rows, people as many as they see without scrolling, beside
// `other_lines`.
size_t RowsOf(const Options& options, const report::Terminal& terminal, int other_lines);

// 0: as many columns as it takes.
int ColumnsOf(const Options& options, const report::Terminal& terminal);

bool IsColored(const Options& options, const report::Terminal& terminal);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_LAYOUT_H_
