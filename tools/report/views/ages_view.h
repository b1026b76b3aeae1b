// The view of live memory by age.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "ages", with a row for each factor of two of the age, and "ages_by_bytes", with
// rows by the bytes that the block's thread has allocated since.  Fails with one line if no age is
// known.
absl::Status AddAges(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_AGES_VIEW_H_
