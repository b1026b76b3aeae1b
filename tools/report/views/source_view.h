// A function's source with amounts beside its lines.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "source".  The function is options.source: its whole name, the name without
// arguments and parameters, or the end of that behind "::".  Its file is read from where the
// profile says, else from below the current folder.  Fails with one line that says where was
// looked.
absl::Status AddSource(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_SOURCE_VIEW_H_
