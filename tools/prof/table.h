// Formats the report.
#ifndef ALLOMON_TOOLS_PROF_TABLE_H_
#define ALLOMON_TOOLS_PROF_TABLE_H_

#include <string>
#include <vector>

#include "tools/prof/charge.h"
#include "tools/prof/options.h"

namespace allomon::prof {

// Sorts the rows by options.order (equal ones by name, then by address) and shows them.  Rows
// without time and calls are shown only with -z.
std::string FormatTable(Charges charges, const Options& options);

// Returns the text of -s: how the profile was taken.
std::string FormatSummary(const std::vector<MonRange>& ranges, const Charges& charges,
                          const std::string& mon_file);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_TABLE_H_
