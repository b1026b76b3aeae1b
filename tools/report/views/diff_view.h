// The view of changes from one profile to another, and of those that are chance.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/report/table/table.h"
#include "tools/report/views/view.h"

namespace allomon::views {

// The probability that any row is marked although both runs behave alike.
inline constexpr double kFalseAlarms = 0.001;

// The smallest share of a row's amount that is marked as a change, even if a smaller one is
// significant.
inline constexpr double kLeastChange = 0.01;

struct Difference {
  Report report;
  bool grew = false;         // true if a row is marked as grown or new
  bool is_testable = false;  // false: nothing tells growth from chance, so that no row is marked
};

// Fails with one line if the two profiles cannot be compared as the options ask.  options.files are
// the names of the two files.
absl::StatusOr<Difference> DifferenceOf(const heap::HeapProfile& before,
                                        const heap::HeapProfile& after, const Options& options,
                                        const Space& space);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_DIFF_VIEW_H_
