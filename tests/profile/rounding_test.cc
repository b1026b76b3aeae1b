// The written numbers add up, and a function without callees has the same number in both columns.
#include <random>

#include "gtest/gtest.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/attribution.h"

namespace allomon {
namespace {

using Counts = std::vector<MlmonCount>;

constexpr size_t kFixed = kMainSource + 1;
constexpr MlmonInt kDivisor = 1024;

// Returns the counts of <unknown>, <gc> and <main>, followed by `functions`.
Counts With(const Counts& functions) {
  Counts counts(kFixed);
  counts.insert(counts.end(), functions.begin(), functions.end());
  return counts;
}

// The carry makes 0 of the second leaf, which by itself is rounded to 1.
TEST(RoundingTest, LeafHasOneNumberInBothColumns) {
  Counts counts = With({{600, 600}, {600, 600}, {300, 300}});
  EXPECT_TRUE(RoundCounts(kDivisor, true, &counts).total == 1);
  EXPECT_TRUE(counts[kFixed + 1].current == 0);
  for (size_t i = kFixed; i < counts.size(); ++i) EXPECT_TRUE(counts[i].current == counts[i].stack);
}

TEST(RoundingTest, CallersOfOneLeafHaveItsNumber) {
  // The first function's fraction is carried to the leaf, the second; the third calls the leaf, the
  // last both.
  Counts counts = With({{900, 900}, {700, 700}, {0, 700}, {0, 1600}});
  RoundCounts(kDivisor, true, &counts);
  EXPECT_TRUE(counts[kFixed].stack == 1);
  EXPECT_TRUE(counts[kFixed + 1].stack == 1 && counts[kFixed + 2].stack == 1);
  EXPECT_TRUE(counts[kFixed + 3].stack == 2) << "it is all that there is";
  counts = With({{600, 600}, {700, 700}, {0, 700}, {0, 1300}});
  RoundCounts(kDivisor, true, &counts);
  EXPECT_TRUE(counts[kFixed + 1].stack == 0 && counts[kFixed + 2].stack == 0);
}

TEST(RoundingTest, WithoutStackDataTheStackCountsStayAsTheyWere) {
  Counts counts = With({{1500, 0}});
  EXPECT_TRUE(RoundCounts(kDivisor, false, &counts).total == 1);
  EXPECT_TRUE(counts[kFixed].stack == 0);
}

TEST(RoundingTest, CollectorIsNotPartOfTheTotal) {
  Counts counts = With({{2048, 2048, 1024}});
  counts[kGcSource].current = 3 * 1024;
  const RoundedTotals totals = RoundCounts(kDivisor, true, &counts);
  EXPECT_TRUE(totals.total == 2 && totals.total_gc == 3);
  EXPECT_TRUE(counts[kGcSource].stack == 0 && counts[kGcSource].stack_gc == 3);
}

bool IsWithinOne(MlmonInt written, MlmonInt amount) {
  const MlmonInt error = written * kDivisor - amount;
  return -kDivisor <= error && error <= kDivisor;
}

// A chain of functions that call each other, of any amounts: each counts its own amount and those
// of all its callees.
TEST(RoundingTest, ColumnsAddUpAndKeepTheirOrderWhateverTheAmounts) {
  std::mt19937 random(1);
  for (int run = 0; run < 1000; ++run) {
    Counts functions(1 + random() % 20);
    MlmonInt below = 0;
    for (MlmonCount& count : functions) {
      count.current = random() % 4 == 0 ? 0 : static_cast<MlmonInt>(random() % 5000);
      count.stack = below += count.current;
    }
    const Counts before = With(functions);
    Counts counts = before;
    const MlmonInt total = RoundCounts(kDivisor, true, &counts).total;
    MlmonInt sum = 0;
    for (size_t i = kFixed; i < counts.size(); ++i) {
      sum += counts[i].current;
      ASSERT_TRUE(counts[i].current <= counts[i].stack && counts[i].stack <= total) << run;
      ASSERT_TRUE(IsWithinOne(counts[i].current, before[i].current)) << run;
      ASSERT_TRUE(IsWithinOne(counts[i].stack, before[i].stack)) << run;
      ASSERT_TRUE(before[i].current != before[i].stack || counts[i].current == counts[i].stack);
    }
    ASSERT_TRUE(sum == total && IsWithinOne(total, below)) << run;
  }
}

}  // namespace
}  // namespace allomon
