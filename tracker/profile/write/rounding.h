// Converts amounts in the finest unit of their kind to the whole numbers of mlmon.out.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_ROUNDING_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_ROUNDING_H_

#include <vector>

#include "tracker/formats/mlmon.h"

namespace allomon {

struct RoundedTotals {
  MlmonInt total = 0;     // of all functions but <gc>
  MlmonInt total_gc = 0;  // of <gc>
};

// Divides all counts by `divisor`, and rounds them so that the current counts add up to the totals,
// and that inv.written.order holds.  A function that called nothing has as much in its stack count
// as in its current one, and so have functions that called only that one.  No count is off by a
// unit or more.  `counts` begin with <unknown>, <gc> and <main>; `has_stack`: the stack counts are
// written.  Pure; takes time n log n.
RoundedTotals RoundCounts(MlmonInt divisor, bool has_stack, std::vector<MlmonCount>* counts);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_ROUNDING_H_
