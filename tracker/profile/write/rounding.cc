#include "tracker/profile/write/rounding.h"

#include <algorithm>
#include <map>

#include "tracker/base/check.h"
#include "tracker/formats/source_table.h"

namespace allomon {
namespace {

using Counts = std::vector<MlmonCount>;

MlmonInt Rounded(MlmonInt amount, MlmonInt divisor) { return (amount + divisor / 2) / divisor; }

// Rounds each row to a whole number so that the rows add up to the rounded sum: the part that one
// row loses by rounding is carried to the next row.
void RoundCurrent(MlmonInt divisor, Counts* counts) {
  MlmonInt sum = 0;
  MlmonInt written = 0;
  for (MlmonCount& count : *counts) {
    sum += count.current;
    count.current = Rounded(sum, divisor) - written;
    written += count.current;
  }
}

RoundedTotals TotalsOf(const Counts& counts) {
  RoundedTotals totals;
  for (const MlmonCount& count : counts) totals.total += count.current;
  totals.total_gc = counts[kGcSource].current;
  totals.total -= totals.total_gc;
  return totals;
}

MlmonInt Clamp(MlmonInt value, MlmonInt low, MlmonInt high) {
  return std::min(std::max(value, low), high);
}

void CheckWritten(MlmonInt total, const Counts& counts) {
  for (size_t source = 0; internal::kDebugChecks && source < counts.size(); ++source) {
    if (source == kGcSource) continue;
    const MlmonCount& count = counts[source];
    ALLOMON_DCHECK("inv.written.order", count.current <= count.stack && count.stack <= total);
  }
}

// Maps the stack count, before rounding, of each function that called nothing to the current count
// that RoundCurrent() gave it.  The carry makes it differ from a count that is rounded alone.
std::map<MlmonInt, MlmonInt> RoundedLeaves(const Counts& before, const Counts& counts) {
  std::map<MlmonInt, MlmonInt> rounded;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (before[i].current == before[i].stack) rounded.emplace(before[i].stack, counts[i].current);
  }
  return rounded;
}

// Rounds the stack columns so that inv.written.order holds.  It holds before rounding, except for
// counts that threads changed while they were read.
void RoundStack(MlmonInt divisor, const RoundedTotals& totals, const Counts& before,
                Counts* counts) {
  const std::map<MlmonInt, MlmonInt> leaves = RoundedLeaves(before, *counts);
  for (size_t i = 0; i < counts->size(); ++i) {
    MlmonCount& count = (*counts)[i];
    const bool is_leaf = before[i].current == before[i].stack;
    const auto leaf = leaves.find(before[i].stack);
    const MlmonInt rounded =
        leaf != leaves.end() ? leaf->second : Rounded(before[i].stack, divisor);
    count.stack = is_leaf ? count.current : Clamp(rounded, count.current, totals.total);
    count.stack_gc = Clamp(Rounded(count.stack_gc, divisor), 0, totals.total_gc);
  }
  CheckWritten(totals.total, *counts);
  // The collector's time is its own, as in MLton.
  (*counts)[kGcSource].stack = 0;
  (*counts)[kGcSource].stack_gc = totals.total_gc;
}

}  // namespace

RoundedTotals RoundCounts(MlmonInt divisor, bool has_stack, std::vector<MlmonCount>* counts) {
  const Counts before = *counts;
  RoundCurrent(divisor, counts);
  const RoundedTotals totals = TotalsOf(*counts);
  if (has_stack) RoundStack(divisor, totals, before, counts);
  return totals;
}

}  // namespace allomon
