// Writes the beginning of a report: the program, its totals with intervals, the agreement of
// estimates with exact numbers, and what the profile lacks.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_HEADLINE_H_
#define ALLOMON_TOOLS_REPORT_TABLE_HEADLINE_H_

#include <string>
#include <vector>

#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Estimated and exact words of all threads.  The exact number is 0 if the profile does not have it.
struct WordsError {
  double exact = 0;
  double estimated = 0;
  double variance = 0;

  double Percent() const { return exact == 0 ? 0 : 100 * (estimated - exact) / exact; }
  bool IsWithin() const;  // true if the exact number is within the estimate's interval
};
WordsError WordsErrorOf(const heap::HeapProfile& profile);

// Returns "a.pb.gz and 2 more files: redis-server (pid 17), 12.3 s".
std::string TitleOf(const heap::HeapProfile& profile, const std::vector<std::string>& files);

// Returns "1.2 GiB (1.1-1.3 GiB) allocated, 81 MiB (79-83 MiB) live at the peak, ..."
std::string TotalsText(const heap::HeapProfile& profile);

// Adds the facts that come first: the JSON's format, its version and the view.  The version rises
// when a member is removed or means something else; members may be new in any version.
inline constexpr double kJsonVersion = 1;
void AddFormat(const std::string& command, View view, Report* report);

void AddHeadline(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_HEADLINE_H_
