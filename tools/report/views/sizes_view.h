// Blocks by their size: a row for each power of two.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_SIZES_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_SIZES_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "sizes".  Fails with one line if no sample has a size.
absl::Status AddSizes(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_SIZES_VIEW_H_
