// What changed from one profile to another, and what differs by chance.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/report/table/table.h"
#include "tools/report/views/view.h"

namespace allomon::views {

// The probability that two runs of the same truth mark any row.
inline constexpr double kFalseAlarms = 0.001;

// A smaller part of a row's amount is no change worth a mark, however sure it is.
inline constexpr double kLeastChange = 0.01;

struct Difference {
  Report report;
  bool grew = false;  // a row is marked as grown or new
};

// Fails with one line if the two cannot be compared as the options ask.  options.files are the two
// files' names.
absl::StatusOr<Difference> DifferenceOf(const heap::HeapProfile& before,
                                        const heap::HeapProfile& after, const Options& options,
                                        const Space& space);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_
