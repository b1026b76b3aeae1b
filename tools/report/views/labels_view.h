// Rows by the value of a label: whose memory it is.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_

#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "labels".  Each row is a value of Options::by_label, with the measure's metric and
// with those of live, peak and allocated that the profile has.
void AddLabels(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_LABELS_VIEW_H_
