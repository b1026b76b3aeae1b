#ifndef ALLOMON_TOOLS_MLPROF_TABLE_H_
#define ALLOMON_TOOLS_MLPROF_TABLE_H_

#include <string>
#include <vector>

#include "tools/mlprof/selection.h"

namespace allomon::mlprof {

// Lines of cells joined by single spaces.  Columns are as wide as their widest cell, in bytes;
// heads are centred, over a line of dashes; the first column is left justified, the others right.
// Every row has as many cells as there are heads.
std::string JustifiedTable(const std::vector<std::string>& heads,
                           const std::vector<std::vector<std::string>>& rows);

// The rows of the selection, in mlprof's order, under its heads.  A function that used nothing has
// no row, with one exception: where calls were counted, a function with a position that was never
// called is shown.
std::string FormatTable(const ProfileView& view, const Selection& selection, bool raw,
                        bool show_line);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_TABLE_H_
