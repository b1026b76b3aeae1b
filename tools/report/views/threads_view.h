// What each thread allocated, what of it is live, and how far its estimate is off.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_

#include "absl/status/status.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "threads".  Threads of one name are one row.  Where samples name their threads,
// rows are of the chosen stacks and metric; else of all stacks.  Fails with one line if no thread
// is known.
absl::Status AddThreads(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_THREADS_VIEW_H_
