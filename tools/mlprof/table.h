#ifndef ALLOMON_TOOLS_MLPROF_TABLE_H_
#define ALLOMON_TOOLS_MLPROF_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/mlprof/profile_view.h"

namespace allomon::mlprof {

// ---- The order of rows.

// Returns the order in which mlprof lists rows with these percentages, as indices into `percents`.
// It is descending, and equal ones are in the order in which mlprof's sort happens to leave them.
//
// The sort is Bentley's quicksort (Programming Pearls).  First it moves a smallest element to the
// end.  Its pivots come from a generator that starts the same in every run, and an insertion sort
// finishes it.  It is not stable, so only the same sort gives the same result.  O(n log n)
// expected.
std::vector<size_t> RowOrder(const std::vector<double>& percents);

// Formats lines of cells joined by single spaces.  Columns are as wide as their widest cell, in
// bytes.  Heads are centred, over a line of dashes.  The first column is left-justified, the others
// are right-justified.  Every row must have as many cells as there are heads.
std::string JustifiedTable(const std::vector<std::string>& heads,
                           const std::vector<std::vector<std::string>>& rows);

// Formats the rows of the selection, in mlprof's order, under its heads.  A function without an
// amount has no row, with one exception: in a profile of calls, a function with a position that was
// never called is shown.
std::string FormatTable(const ProfileView& view, const Selection& selection, bool raw,
                        bool show_line);

// Returns the numbers of one function: a percentage for the column cur and, with stack data, for
// stack and GC.  Each percentage is followed by the amount itself under -raw.
std::vector<std::string> Cells(const ProfileView& view, bool raw, const MlmonCount& count);

// Returns the heads of these columns, with `function` before them.
std::vector<std::string> ColumnHeads(const ProfileView& view, bool raw);

// Returns the first line of the report; empty if there are no data.
std::string TotalsLine(const ProfileView& view);

bool IsNonZero(const MlmonCount& count);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_TABLE_H_
