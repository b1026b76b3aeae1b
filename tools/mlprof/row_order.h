#ifndef ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_
#define ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_

#include <cstddef>
#include <vector>

namespace allomon::mlprof {

// The order in which mlprof lists rows with these percentages: descending, and equal ones as its
// sort happens to leave them.  Returns the indices into `percents`.
//
// The sort is Bentley's quicksort (Programming Pearls) with pivots from a generator that starts the
// same in every run, after a smallest element has been moved to the end, and is finished by an
// insertion sort.  It is not stable, so only the same sort gives the same result.  O(n log n)
// expected.
std::vector<size_t> RowOrder(const std::vector<double>& percents);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_
