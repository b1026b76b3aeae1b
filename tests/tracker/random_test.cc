// The distributions of gaps and of hits, compared with closed forms.  All seeds are fixed.
#include "tracker/sampling/random.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/support/statistics.h"

namespace allomon::internal {
namespace {

using ::allomon::testing::BinomialTolerance;
using ::allomon::testing::kSigmas;

RandomBits Seeded(uint64_t seed) {
  RandomBits bits;
  bits.Seed(seed, 0);
  return bits;
}

// OCaml's approximate logarithm gives no such gap at 1e-6, and 2 % too few at 1e-3.
TEST(GapTest, ShortestGapIsAsFrequentAsTheRate) {
  constexpr double kRate = 1e-3;
  constexpr int kDraws = 20000000;
  RandomBits bits = Seeded(1);
  const double scale = GapScale(kRate);
  int ones = 0;
  for (int i = 0; i < kDraws; ++i) ones += DrawGap(bits, scale) == 1 ? 1 : 0;
  EXPECT_NEAR(ones, kDraws * kRate, BinomialTolerance(kDraws, kRate));
}

// Mean 1/rate, variance (1-rate)/rate^2; the sum of many is normal.
TEST(GapTest, MeanIsOneOverTheRate) {
  for (const double rate : {1e-6, 1e-4, 1e-2, 0.1, 0.5, 0.9}) {
    constexpr int kDraws = 1000000;
    RandomBits bits = Seeded(2);
    const double scale = GapScale(rate);
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += static_cast<double>(DrawGap(bits, scale));
    const double sigma = std::sqrt((1 - rate) * kDraws) / rate;
    EXPECT_NEAR(sum, kDraws / rate, kSigmas * sigma) << "rate " << rate;
  }
}

// P(gap > k) = (1 - rate)^k at several k: the whole distribution, not its mean alone.
TEST(GapTest, TailIsGeometric) {
  constexpr double kRate = 0.01;
  constexpr int kDraws = 2000000;
  for (const int k : {1, 7, 50, 100, 300, 600}) {
    RandomBits bits = Seeded(3);
    const double scale = GapScale(kRate);
    int longer = 0;
    for (int i = 0; i < kDraws; ++i) longer += DrawGap(bits, scale) > k ? 1 : 0;
    const double p = std::pow(1 - kRate, k);
    EXPECT_NEAR(longer, kDraws * p, BinomialTolerance(kDraws, p)) << "k " << k;
  }
}

TEST(GapTest, RateOneAlwaysHitsTheNextWord) {
  RandomBits bits = Seeded(4);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(DrawGap(bits, GapScale(1)), 1);
}

TEST(GapTest, VanishingRateIsClippedAndNotUndefined) {
  RandomBits bits = Seeded(5);
  for (const double rate : {1e-300, 5e-324}) EXPECT_EQ(DrawGap(bits, GapScale(rate)), kNeverWords);
}

struct BinomialCase {
  uint64_t trials;
  double rate;
};

class BinomialTest : public ::testing::TestWithParam<BinomialCase> {};

// Sum of draws is binomial itself; the sum of squared deviations has mean N v and, for N draws, a
// standard deviation of sqrt(N (k4 - v^2)), k4 being the fourth moment.
TEST_P(BinomialTest, MeanAndVarianceAreExact) {
  constexpr int kDraws = 200000;
  const double n = static_cast<double>(GetParam().trials);
  const double p = GetParam().rate;
  RandomBits bits = Seeded(6);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double deviation =
        static_cast<double>(DrawBinomial(bits, GetParam().trials, Rate(p))) - n * p;
    sum += deviation;
    squares += deviation * deviation;
  }
  const double variance = n * p * (1 - p);
  const double fourth = variance * (3 * variance + 1 - 6 * p * (1 - p));
  EXPECT_NEAR(sum, 0, BinomialTolerance(kDraws * n, p));
  EXPECT_NEAR(squares, kDraws * variance,
              kSigmas * std::sqrt(kDraws * (fourth - variance * variance)) + 1e-6);
}

INSTANTIATE_TEST_SUITE_P(GapsAndRejection, BinomialTest,
                         ::testing::Values(BinomialCase{1, 0.3}, BinomialCase{10, 0.5},
                                           BinomialCase{100, 0.05}, BinomialCase{100, 0.2},
                                           BinomialCase{40, 0.5}, BinomialCase{1000, 0.01},
                                           BinomialCase{1000, 0.9}, BinomialCase{131072, 1e-4},
                                           BinomialCase{131072, 0.01}, BinomialCase{131072, 0.5},
                                           BinomialCase{100000000, 1e-3}));

TEST(BinomialTest, ExtremesNeedNoLuck) {
  RandomBits bits = Seeded(7);
  EXPECT_EQ(DrawBinomial(bits, 12345, Rate(0)), 0u);
  EXPECT_EQ(DrawBinomial(bits, 12345, Rate(1)), 12345u);
  EXPECT_EQ(DrawBinomial(bits, 0, Rate(0.5)), 0u);
}

TEST(RandomBitsTest, StreamsOfOneSeedDiffer) {
  RandomBits a;
  RandomBits b;
  a.Seed(1, 0);
  b.Seed(1, 1);
  EXPECT_NE(a.Next(), b.Next());
}

TEST(RandomBitsTest, SameSeedRepeats) {
  RandomBits a = Seeded(9);
  RandomBits b = Seeded(9);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.Next(), b.Next());
}

}  // namespace
}  // namespace allomon::internal
