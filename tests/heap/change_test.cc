// Equal runs mark nothing, growth is marked, and p-values have their stated probability: by
// simulated runs with fixed seeds.
#include "tools/heap/change.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace allomon::heap {
namespace {

using Random = std::mt19937_64;

// Returns an estimate from the sampled ones of `blocks` blocks.
Amount Sampled(double blocks, double size_bytes, double rate, Random* random) {
  const double p = ReportProbability(size_bytes, true, rate);
  const double sampled =
      std::binomial_distribution<>(static_cast<int>(std::lround(blocks)), p)(*random);
  return {sampled / p, sampled * size_bytes / p};
}

// A row of blocks of some sizes, so that about `samples` of each size are sampled at 1e-4.
struct SimulatedRow {
  std::vector<double> sizes;
  double samples = 0;
  double growth = 1;
};

ChangeSums Simulate(const SimulatedRow& row, const Comparison& comparison, Random* random) {
  ChangeSums sums;
  for (const double size : row.sizes) {
    const double blocks = row.samples / ReportProbability(size, true, 1e-4);
    sums.Add(BeforeOf(Sampled(blocks, size, comparison.before.rate, random), Sample(), comparison));
    sums.Add(AfterOf(Sampled(blocks * row.growth, size, comparison.after.rate, random), Sample(),
                     comparison));
  }
  return sums;
}

std::vector<bool> Marked(const std::vector<ChangeSums>& rows, double alpha) {
  std::vector<double> p_values;
  std::vector<double> least;
  for (const ChangeSums& sums : rows) {
    p_values.push_back(PValue(sums, false));
    least.push_back(LeastPValue(sums));
  }
  return MarkedRows(p_values, least, alpha);
}

// Rows like those of programs: many small ones, few large.
std::vector<SimulatedRow> Program() {
  std::vector<SimulatedRow> rows;
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    const double samples = std::exp(std::uniform_real_distribution<>(-2, 9)(random));
    const bool mixed = i % 2 == 0;
    rows.push_back({mixed ? std::vector<double>{16, 200, 5000} : std::vector<double>{64},
                    mixed ? samples / 3 : samples, 1});
  }
  return rows;
}

TEST(IncompleteBetaTest, IsTheTailOfTheBinomialDistribution) {
  // P(X >= 8) of ten throws of a coin: (45 + 10 + 1) / 1024.
  EXPECT_NEAR(IncompleteBeta(8, 3, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_NEAR(IncompleteBeta(1, 1, 0.3), 0.3, 1e-12);
  EXPECT_NEAR(IncompleteBeta(5000, 5001, 0.5), 0.503989, 1e-6);
  EXPECT_NEAR(IncompleteBeta(2, 3, 0.2) + IncompleteBeta(3, 2, 0.8), 1, 1e-12);
  EXPECT_EQ(IncompleteBeta(2, 3, 0), 0);
  EXPECT_EQ(IncompleteBeta(2, 3, 1), 1);
}

// 5 % of p-values are expected below 5 %: of 6,000 rows 3.4 to 6.6 % (5.7 sigma).  With few
// samples, p-values take discrete steps, so theirs may be rarer.
TEST(ChangeTest, PValuesAreThoseOfChance) {
  const Comparison same = {{1e-4}, {1e-4}, false};
  const Comparison other = {{1e-4}, {1e-3}, false};
  for (const Comparison& comparison : {same, other}) {
    for (const double samples : {5, 20, 100, 1000}) {
      for (const auto& sizes : {std::vector<double>{64}, {16, 200, 5000, 60000}}) {
        Random random(11);
        int below = 0;
        constexpr int kRows = 6000;
        for (int i = 0; i < kRows; ++i) {
          const ChangeSums sums = Simulate({sizes, samples, 1}, comparison, &random);
          below += PValue(sums, false) < 0.05;
        }
        const double share = static_cast<double>(below) / kRows;
        EXPECT_LT(share, 0.066) << samples << " samples of each of " << sizes.size();
        EXPECT_GT(share, samples < 20 ? 0.02 : 0.034) << samples << " of " << sizes.size();
      }
    }
  }
}

TEST(ChangeTest, EqualRunsMarkNothing) {
  const Comparison comparison = {{1e-4}, {1e-4}, false};
  const std::vector<SimulatedRow> program = Program();
  Random random(5);
  int runs_with_marks = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<ChangeSums> rows;
    for (const SimulatedRow& row : program) rows.push_back(Simulate(row, comparison, &random));
    const std::vector<bool> marked = Marked(rows, 0.001);
    runs_with_marks += std::count(marked.begin(), marked.end(), true) > 0;
  }
  // Of 1,000 runs one is expected to have marks; six or more of 300 runs have a probability of
  // 1e-6.
  EXPECT_LT(runs_with_marks, 6);
}

TEST(ChangeTest, GrowthOfOneRowByATenthIsMarked) {
  const Comparison comparison = {{1e-4}, {1e-4}, false};
  std::vector<SimulatedRow> program = Program();
  program.push_back({{64}, 15000, 1.1});
  Random random(7);
  for (int run = 0; run < 20; ++run) {
    std::vector<ChangeSums> rows;
    for (const SimulatedRow& row : program) rows.push_back(Simulate(row, comparison, &random));
    const std::vector<bool> marked = Marked(rows, 0.001);
    EXPECT_TRUE(marked.back()) << "run " << run;
    EXPECT_EQ(std::count(marked.begin(), marked.end(), true), 1) << "run " << run;
  }
}

TEST(ChangeTest, LargeBlocksAreKnownSoThatOneMoreIsAChange) {
  const Comparison comparison = {{1e-4}, {1e-4}, false};
  ChangeSums sums;
  sums.Add(BeforeOf({10, 10e6}, Sample(), comparison));
  sums.Add(AfterOf({11, 11e6}, Sample(), comparison));
  EXPECT_LT(PValue(sums, false), 1e-9);
}

TEST(ChangeTest, ExactAgainstSampledIsTestedByTheSampledSide) {
  const Comparison comparison = {{1}, {1e-4}, false};
  Random random(9);
  int below = 0;
  for (int i = 0; i < 5000; ++i) {
    below += PValue(Simulate({{64}, 3, 1}, comparison, &random), false) < 0.01;
  }
  EXPECT_LT(below, 100);  // 50 are expected
}

TEST(ChangeTest, NewAndGoneRowsHaveIntervals) {
  const Comparison comparison = {{1e-4}, {1e-4}, false};
  const double p = ReportProbability(64, true, 1e-4);
  const ChangeSums fresh = AfterOf({40 / p, 64 * 40 / p}, Sample(), comparison);
  EXPECT_LT(PValue(fresh, false), 1e-9);
  const Interval interval = DifferenceInterval(fresh, false);
  EXPECT_GT(interval.low, 0);
  EXPECT_GT(interval.high, Difference(fresh, false));
}

TEST(ChangeTest, WithoutARateNothingIsTested) {
  const Comparison comparison = {{0}, {1e-4}, false};
  EXPECT_FALSE(comparison.IsTestable());
  const ChangeSums sums = BeforeOf({5, 50}, Sample(), comparison);
  EXPECT_EQ(DifferenceInterval(sums, false).low, -50);
}

TEST(ChangeTest, DifferenceIntervalsHoldTheTruth) {
  const Comparison comparison = {{1e-4}, {2e-4}, false};
  for (const double samples : {10, 50, 500}) {
    Random random(13);
    int held = 0;
    constexpr int kRows = 10000;
    const std::vector<double> sizes = {24, 300};
    double truth = 0;
    for (const double size : sizes) {
      truth += std::lround(samples * 1.3 / ReportProbability(size, true, 1e-4)) * size -
               std::lround(samples / ReportProbability(size, true, 1e-4)) * size;
    }
    for (int i = 0; i < kRows; ++i) {
      const Interval interval =
          DifferenceInterval(Simulate({sizes, samples, 1.3}, comparison, &random), false);
      held += interval.low <= truth && truth <= interval.high;
    }
    EXPECT_GT(held, 0.935 * kRows) << samples;
    EXPECT_LT(held, 0.965 * kRows) << samples;
  }
}

}  // namespace
}  // namespace allomon::heap
