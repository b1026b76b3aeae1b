// The view of a function's source, with amounts beside its lines.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "source".  options.source names the function: its whole name, the name without
// arguments and parameters, or the end of that after "::".  Its file is read from the path in the
// profile, else from below the current folder.  Fails with one line that names the places that were
// searched.
absl::Status AddSource(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_
