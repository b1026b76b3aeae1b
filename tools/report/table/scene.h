// A profile, the stacks that an option selects, and their amounts.  Every view starts from it.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_SCENE_H_
#define ALLOMON_TOOLS_REPORT_TABLE_SCENE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"
#include "tools/heap/rows.h"
#include "tools/heap/stacks.h"
#include "tools/report/table/estimates.h"
#include "tools/report/table/options.h"
#include "tools/text/plain_text.h"

namespace allomon::views {

// Returns the metric for a person with little time.  It is live if that is at least a third of the
// peak (a process that still runs, or one that leaked).  Otherwise it is the peak, else allocated.
heap::Metric DefaultMetric(const heap::HeapProfile& profile);

// Refers to the profile and the options, which must outlive it.
struct Scene {
  const heap::HeapProfile* profile = nullptr;
  const Options* options = nullptr;
  Charset charset = Charset::kUtf8;
  size_t rows = 0;  // the most rows shown; 0: all
  Measure measure;
  heap::Stacks stacks;
  std::vector<heap::Estimate> values;  // of the measure's metric, by stack
  heap::Estimate selected;             // sum of `values`
  heap::Estimate whole;                // sum of all samples: 100 %
  std::string file;                    // file name in suggested commands

  // Whether some of the stacks or blocks were chosen, even if these are all.
  bool IsOfChosen() const {
    const heap::Selection& selection = options->selection;
    return !selection.focus.empty() || !selection.ignore.empty() || !selection.labels.empty();
  }
  bool HasIntervals() const { return profile->rate > 0 && profile->rate < 1; }
  const heap::Sample& SampleOf(const heap::Stack& stack) const {
    return profile->samples[stack.sample];
  }
};

// Fails with one line if the profile lacks the metric that the options ask for.
absl::StatusOr<Measure> MeasureOf(const heap::HeapProfile& profile, const Options& options);

Scene SceneOf(const heap::HeapProfile& profile, const Options& options, const Measure& measure);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_SCENE_H_
