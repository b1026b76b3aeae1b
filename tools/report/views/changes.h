// Rows of two profiles: what each was, what it became, and whether that is chance.
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
  kNoise,   // one that chance makes
  kSlight,  // a true one, of less than a hundredth
  kGrew,
  kShrank,
  kNew,
  kGone,
  kUnknown,  // without a rate nothing can be told
};

struct Change {
  uint32_t frame = 0;  // of Changes::stacks
  uint32_t node = 0;   // of a tree; else 0
  heap::ChangeSums sums;
  double difference = 0;
  double p_value = 1;
  Outcome outcome = Outcome::kSame;

  bool IsMarked() const;
};

struct Changes {
  heap::HeapProfile joined;  // the samples of both
  heap::Stacks stacks;
  heap::Comparison comparison;
  heap::ChangeSums whole;
  heap::Tree<heap::ChangeSums> tree;  // of the views tree and callers
  std::vector<Change> rows;           // those that are marked first; then by size
};

// Functions are the same if their name and their file's last part are.
Changes ChangesOf(const heap::HeapProfile& before, const heap::HeapProfile& after,
                  const Options& options, const Measure& measure, View view);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_CHANGES_H_
