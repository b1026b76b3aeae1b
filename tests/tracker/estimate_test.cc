#include "tracker/estimate.h"

#include "gtest/gtest.h"

namespace allomon {
namespace {

Allocation Block(uint64_t bytes, double rate, uint64_t hits = 1) {
  Allocation allocation;
  allocation.n_samples = hits;
  allocation.size_bytes = bytes;
  allocation.size_words = (bytes + 7) / 8;
  allocation.rate = rate;
  return allocation;
}

TEST(EstimateTest, RateOneIsExactAndCertain) {
  HeapEstimate estimate;
  estimate.Add(Block(100, 1));
  EXPECT_EQ(estimate.bytes.value, 100);
  EXPECT_EQ(estimate.bytes.variance, 0);
  EXPECT_EQ(estimate.blocks.value, 1);
}

TEST(EstimateTest, HeaderOfAnEmptyBlockIsATrial) {
  EXPECT_DOUBLE_EQ(ReportProbability(TrialWords(Block(0, 0.25)), 0.25), 0.25);
}

TEST(EstimateTest, CustomBytesHaveNoHeader) {
  Allocation allocation = Block(8, 0.25);
  allocation.source = AllocationSource::kCustom;
  EXPECT_DOUBLE_EQ(ReportProbability(TrialWords(allocation), 0.25), 0.25);
}

// 1 - (1 - rate)^n computed naively is 0 here.
TEST(EstimateTest, TinyRateKeepsItsDigits) {
  EXPECT_NEAR(ReportProbability(2, 1e-18), 2e-18, 1e-30);
}

// Half of the blocks are sampled, so each stands for two, with variance v^2 (1-p) / p^2.
TEST(EstimateTest, WeightAndVarianceFollowTheProbability) {
  HeapEstimate estimate;
  estimate.Add(Block(0, 0.5));
  EXPECT_DOUBLE_EQ(estimate.blocks.value, 2);
  EXPECT_DOUBLE_EQ(estimate.blocks.variance, 2);
}

TEST(EstimateTest, MemprofWordsCountHits) {
  EXPECT_DOUBLE_EQ(MemprofWords(Block(800, 0.01, 3)), 300);
}

}  // namespace
}  // namespace allomon
