// A view of a profile: the choice of what is shown, and the report of it.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/report/table/table.h"
#include "tools/text/plain_text.h"

namespace allomon::views {

// `rows` is the most that is shown; 0: all.  `columns` is the width of a plot.  Fails with one line
// if the profile lacks what the options ask for.
struct Space {
  size_t rows = 0;
  int columns = 80;
  Charset charset = Charset::kUtf8;
};
absl::StatusOr<Report> ReportOf(const heap::HeapProfile& profile, const Options& options,
                                const Space& space);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_VIEW_H_
