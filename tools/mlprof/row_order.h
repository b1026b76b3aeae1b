#ifndef ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_
#define ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_

#include <cstddef>
#include <vector>

namespace allomon::mlprof {

// Returns the order in which mlprof lists rows with these percentages, as indices into `percents`.
// It is descending, and equal ones are in the order in which mlprof's sort happens to leave them.
//
// The sort is Bentley's quicksort (Programming Pearls).  First it moves a smallest element to the
// end.  Its pivots come from a generator that starts the same in every run, and an insertion sort
// finishes it.  It is not stable, so only the same sort gives the same result.  O(n log n)
// expected.
std::vector<size_t> RowOrder(const std::vector<double>& percents);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_ROW_ORDER_H_
