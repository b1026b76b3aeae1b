// The view of threads: allocated and live bytes of each, and the error of its estimate.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "threads".  Threads of one name are one row.  If samples name their threads, rows
// count the chosen stacks and metric; otherwise all stacks.  Fails with one line if no thread is
// known.
absl::Status AddThreads(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_
