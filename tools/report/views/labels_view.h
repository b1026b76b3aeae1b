// Rows by the value of a label: whose memory it is.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_

#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "labels": of each value of Options::by_label what the measure's metric, and what
// else of live, peak and allocated the profile has.
void AddLabels(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_
