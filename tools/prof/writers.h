// Writes the counts of a program: prof's table, or an mlmon.out.
#ifndef ALLOMON_TOOLS_PROF_WRITERS_H_
#define ALLOMON_TOOLS_PROF_WRITERS_H_

#include <string>
#include <vector>

#include "tools/prof/charge.h"
#include "tools/prof/options.h"

namespace allomon::prof {

// ---- Formats the report.

// Sorts the rows by options.order (equal ones by name, then by address) and shows them.  Rows
// without time and calls are shown only with -z.
std::string FormatTable(Charges charges, const Options& options);

// Returns the text of -s: how the profile was taken.
std::string FormatSummary(const std::vector<MonRange>& ranges, const Charges& charges,
                          const std::string& mon_file);

// ---- Turns charges into MLton's mlmon.out, for mlprof and the reports.

// Writes `path`, and `path`.sources, which answers mlprof for the program.  The counts are ticks of
// 1/100 second, or with `counts` the calls.  On failure returns false, and *error is one line.
bool WriteMlmon(const Charges& charges, bool counts, const std::string& path, std::string* error);

}  // namespace allomon::prof

#endif  // ALLOMON_TOOLS_PROF_WRITERS_H_
