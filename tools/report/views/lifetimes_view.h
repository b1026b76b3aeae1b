// The view of lifetimes: of all freed blocks, and by function.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_LIFETIMES_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_LIFETIMES_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the tables "functions" and "lifetimes".  Fails with one line if no lifetime is known.
absl::Status AddLifetimes(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_LIFETIMES_VIEW_H_
