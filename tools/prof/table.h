// The report.
#ifndef ALLOMON_TOOLS_PROF_TABLE_H_
#define ALLOMON_TOOLS_PROF_TABLE_H_

#include <string>
#include <vector>

#include "tools/prof/charge.h"
#include "tools/prof/options.h"

namespace allomon::prof {

// Sorts the rows by options.order (those that are equal: by name, then address) and shows
// them; those without time or calls only with -z.
std::string FormatTable(Charges charges, const Options& options);

// For -s: how the profile was taken.
std::string FormatSummary(const std::vector<MonRange>& ranges, const Charges& charges,
                          const std::string& mon_file);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_TABLE_H_
