// Profiles state their shortages in one sentence, and the affected metrics are incomplete.
#include "tools/heap/missing.h"

#include <gtest/gtest.h>

namespace allomon::heap {
namespace {

TEST(MissingTest, NothingIsNotSaid) {
  EXPECT_EQ(MissingText({}), "");
  for (size_t metric = 0; metric < kMetrics; ++metric) {
    EXPECT_TRUE(IsWhole({}, static_cast<Metric>(metric)));
  }
}

TEST(MissingTest, EachKindIsSaid) {
  Missing missing;
  missing.samples = 1;
  missing.bytes = 24;
  EXPECT_EQ(MissingText(missing),
            "not in the recording, for want of room: 1 sample of blocks of 24 bytes; a larger "
            "--limit may help");
  for (const MissingKind& kind : kMissingKinds) missing.*kind.count = 2;
  EXPECT_EQ(
      MissingText(missing),
      "not in the recording, for want of room: 2 samples of blocks of 2 bytes, the ages of "
      "2 deaths and promotions, ages of blocks of 2 threads, what 2 rows had at the peak, 2 "
      "names of functions, the modules of 2 frames, and 2 ends of labels; a larger --limit may "
      "help");
}

TEST(MissingTest, AMetricIsWholeIfAllThatItCountsIsThere) {
  struct Case {
    double Missing::*count;
    bool allocated, live, peak, temporary, promoted;
  };
  constexpr Case kCases[] = {
      {&Missing::samples, false, false, false, false, false},
      {&Missing::ends, true, true, true, false, false},
      {&Missing::threads, true, true, true, false, true},
      {&Missing::saved, true, true, false, true, true},
      {&Missing::names, true, true, true, true, true},
      {&Missing::frames, true, true, true, true, true},
  };
  for (const Case& each : kCases) {
    Missing missing;
    missing.*each.count = 1;
    EXPECT_EQ(IsWhole(missing, Metric::kAllocated), each.allocated);
    EXPECT_EQ(IsWhole(missing, Metric::kLive), each.live);
    EXPECT_EQ(IsWhole(missing, Metric::kPeak), each.peak);
    EXPECT_EQ(IsWhole(missing, Metric::kTemporary), each.temporary);
    EXPECT_EQ(IsWhole(missing, Metric::kPromoted), each.promoted);
    EXPECT_EQ(IsWhole(missing, Metric::kDiedYoung), each.promoted);
  }
}

}  // namespace
}  // namespace allomon::heap
