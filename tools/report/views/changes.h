// Rows of a comparison of two profiles: both amounts, and whether their difference is chance.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_CHANGES_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_CHANGES_H_

#include <cstdint>
#include <vector>

#include "tools/heap/change.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/rows.h"
#include "tools/heap/stacks.h"
#include "tools/report/table/estimates.h"
#include "tools/report/table/options.h"

namespace allomon::views {

enum class Outcome {
  kSame,    // no difference
  kNoise,   // a difference by chance
  kSlight,  // a significant one, of less than a hundredth
  kGrew,
  kShrank,
  kNew,
  kGone,
  kUnknown,  // not testable without a rate
};

struct Change {
  uint32_t frame = 0;  // index in Changes::stacks
  uint32_t node = 0;   // in Changes::tree; 0 in other views
  heap::ChangeSums sums;
  double difference = 0;
  double p_value = 1;
  Outcome outcome = Outcome::kSame;

  bool IsMarked() const;
};

// The sum of all stacks in a metric that is not shown.
struct OtherChange {
  heap::Metric metric = heap::Metric::kAllocated;
  heap::ChangeSums sums;
};

struct Changes {
  heap::HeapProfile joined;  // the samples of both profiles
  heap::Stacks stacks;
  heap::Comparison comparison;
  heap::ChangeSums whole;
  heap::Tree<heap::ChangeSums> tree;  // for the views tree and callers
  std::vector<Change> rows;           // marked rows first; then by size
  std::vector<OtherChange> others;    // those that are no chance, if no metric was chosen
};

// Compares two profiles.  Functions are the same if their name and the last part of their file are.
Changes ChangesOf(const heap::HeapProfile& before, const heap::HeapProfile& after,
                  const Options& options, const Measure& measure, View view);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_CHANGES_H_
