// The view of live bytes over time, as a plot of characters.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_TIMELINE_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_TIMELINE_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the plot, `columns` wide, with the peak marked, and for programs the table "timeline".
// Fails with one line if the profile has no timeline.
absl::Status AddTimeline(const Scene& scene, int columns, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_TIMELINE_VIEW_H_
