// Counts of problems with labels.
#ifndef ALLOMON_TRACKER_CORE_LABEL_COUNTS_H_
#define ALLOMON_TRACKER_CORE_LABEL_COUNTS_H_

#include <atomic>
#include <cstdint>

namespace allomon::internal {

// Counts for the whole process, which any thread may add to.  A set counts once for each scope in
// which something was sampled.
struct LabelCounts {
  std::atomic<uint64_t> others{0};          // sets for which there was no room
  std::atomic<uint64_t> cut_sets{0};        // with a key or a value that was too long
  std::atomic<uint64_t> crowded_sets{0};    // with labels left out because there were too many
  std::atomic<uint64_t> misplaced_pops{0};  // of scopes that were not the innermost
  std::atomic<uint64_t> broken_lists{0};    // a scope's memory was reused before its pop
};
extern LabelCounts label_counts;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_COUNTS_H_
