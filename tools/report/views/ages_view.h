// What is live, by how long it has lived.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the tables "ages", a row for each factor of two of the time, and "ages_by_bytes", likewise
// by what the block's thread has allocated since.  Fails with one line if no age is known.
absl::Status AddAges(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_
