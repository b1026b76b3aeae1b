// The arithmetic of sampling: the distributions of gaps and of hits and the elementary functions,
// compared with closed forms and the C library; estimates; words.  All seeds are fixed.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "tests/support/statistics.h"
#include "tracker/base/words.h"
#include "tracker/estimate.h"
#include "tracker/sampling/elementary.h"
#include "tracker/sampling/random.h"

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

// Compares with the C library's functions in extended precision.  All seeds are fixed.

constexpr long double kRelativeError = 0x1p-50L;
constexpr int kPoints = 1000000;

// Uniform in (0, 1), times a power of two between 2^-range and 1.
class Magnitudes {
 public:
  explicit Magnitudes(unsigned range) : range_(range) {}
  double Next() {
    const double unit = (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
    return std::ldexp(unit, -static_cast<int>(random_() % (range_ + 1)));
  }

 private:
  const unsigned range_;
  std::mt19937_64 random_{1};
};

void ExpectClose(double found, long double expected, double at) {
  ASSERT_LE(std::fabs(found - expected), kRelativeError * std::fabs(expected)) << "at " << at;
}

TEST(ElementaryTest, LogarithmsOfAllMagnitudes) {
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double x = magnitudes.Next();
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(1 / x), std::log(static_cast<long double>(1 / x)), x));
  }
}

// The table's entry next to 1 must be 1 itself: otherwise only rounding errors remain.
TEST(ElementaryTest, LogarithmsNextToOneOnBothSides) {
  EXPECT_EQ(Log(1), 0);
  Magnitudes magnitudes(52);
  for (int i = 0; i < kPoints; ++i) {
    for (const double sign : {-0.5, 0.5}) {
      const double x = 1 + sign * magnitudes.Next();
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    }
  }
}

// The borders between entries of the table, and the ends of each octave.
TEST(ElementaryTest, LogarithmsAtTheSeamsOfTheTable) {
  for (double seam = 0.5; seam <= 2; seam += 0x1p-9) {
    for (const double toward : {0.0, 3.0}) {
      const double x = std::nextafter(seam, toward);
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(seam), std::log(static_cast<long double>(seam)), seam));
  }
}

TEST(ElementaryTest, LogarithmsOfTheEndsOfTheRange) {
  for (const double x : {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()}) {
    ExpectClose(Log(x), std::log(static_cast<long double>(x)), x);
  }
}

// A rate of 1e-300 must be as accurate as one of 0.5.
TEST(ElementaryTest, RatesThatDisappearBesideOne) {
  EXPECT_EQ(Log1p(0), 0);
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double x = -magnitudes.Next();
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log1p(x), std::log1p(static_cast<long double>(x)), x));
  }
}

TEST(ElementaryTest, ProbabilitiesThatAreNextToNothingAndNextToCertain) {
  EXPECT_EQ(Expm1(0), 0);
  EXPECT_EQ(Expm1(-1e300), -1);
  EXPECT_EQ(Expm1(-std::numeric_limits<double>::infinity()), -1);
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double small = -magnitudes.Next();
    for (const double x : {small, 64 * small}) {
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Expm1(x), std::expm1(static_cast<long double>(x)), x));
    }
  }
}

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

TEST(WordsTest, EveryStartedWordCountsAndNoSizeWraps) {
  EXPECT_EQ(WordsOf(0), 0u);
  EXPECT_EQ(WordsOf(1), 1u);
  EXPECT_EQ(WordsOf(8), 1u);
  EXPECT_EQ(WordsOf(9), 2u);
  EXPECT_EQ(WordsOf(UINT64_MAX), uint64_t{1} << 61);
  EXPECT_EQ(WordsWithHeader(UINT64_MAX), (uint64_t{1} << 61) + 1);
}

TEST(WordsTest, FastFormIsTheSameForEverySizeThatMallocCanGive) {
  for (uint64_t size_bytes = 0; size_bytes < 100; ++size_bytes) {
    EXPECT_EQ(WordsWithHeaderFast(size_bytes), WordsWithHeader(size_bytes)) << size_bytes;
  }
  EXPECT_EQ(WordsWithHeaderFast(INT64_MAX), WordsWithHeader(INT64_MAX));
}

}  // namespace
}  // namespace allomon::internal
