// Makes the report of a profile by the view that the options choose.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/report/table/table.h"
#include "tools/text/plain_text.h"

namespace allomon::views {

// Space for a report: `rows` is the most rows that are shown (0: all), and `columns` is the width
// of a plot.  ReportOf() fails with one line if the profile lacks data that the options ask for.
struct Space {
  size_t rows = 0;
  int columns = 80;
  Charset charset = Charset::kUtf8;
};
absl::StatusOr<Report> ReportOf(const heap::HeapProfile& profile, const Options& options,
                                const Space& space);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_
