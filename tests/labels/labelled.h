// Shared by the tests of labels: a tracker at rate 1, and the labels of the last block.
#ifndef ALLOMON_TESTS_LABELS_LABELLED_H_
#define ALLOMON_TESTS_LABELS_LABELLED_H_

#include <optional>
#include <string>

#include "allocator/allocator.h"
#include "allomon/labels.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon::testing {

// "tenant=acme request=7".
inline std::string TextOf(const LabelSet& labels) {
  std::string text;
  for (const Label label : labels) {
    text += text.empty() ? "" : " ";
    text.append(label.key).append("=").append(label.value);
  }
  return text;
}

// Keeps the labels of each block with the block.
class LabelTracker {
 public:
  explicit LabelTracker(std::string* last) : last_(last) {}
  std::optional<LabelSet> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes == kAsked) *last_ = TextOf(allocation.labels);
    return allocation.labels;
  }
  static constexpr size_t kAsked = 12'345;

 private:
  std::string* last_;
};

// Now() returns the labels of a block that it allocates on the calling thread.  One thread at a
// time.
class Labelled {
 public:
  Labelled() {
    const auto id = Tracker::start(1, LabelTracker(&last_));
    EXPECT_TRUE(id.ok()) << id.status();
    id_ = *id;
  }
  ~Labelled() { EXPECT_TRUE(Tracker::stop(id_).ok()); }
  Labelled(const Labelled&) = delete;
  Labelled& operator=(const Labelled&) = delete;

  std::string Now() {
    last_ = "not sampled";
    SamplingFree(SamplingMalloc(LabelTracker::kAsked));
    return last_;
  }
  TrackerId id() const { return id_; }

 private:
  std::string last_;
  TrackerId id_;
};

inline allomon_label_statistics Counts() {
  allomon_label_statistics counts = ALLOMON_LABEL_STATISTICS_DEFAULTS;
  EXPECT_EQ(allomon_labels_statistics(&counts), ALLOMON_OK);
  return counts;
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_LABELS_LABELLED_H_
