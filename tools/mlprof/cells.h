#ifndef ALLOMON_TOOLS_MLPROF_CELLS_H_
#define ALLOMON_TOOLS_MLPROF_CELLS_H_

#include <string>
#include <vector>

#include "tools/mlprof/profile_view.h"

namespace allomon::mlprof {

// Returns the numbers of one function: a percentage for the column cur and, with stack data, for
// stack and GC.  Each percentage is followed by the amount itself under -raw.
std::vector<std::string> Cells(const ProfileView& view, bool raw, const MlmonCount& count);

// Returns the heads of these columns, with `function` before them.
std::vector<std::string> ColumnHeads(const ProfileView& view, bool raw);

// Returns the first line of the report; empty if there are no data.
std::string TotalsLine(const ProfileView& view);

bool IsNonZero(const MlmonCount& count);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_CELLS_H_
