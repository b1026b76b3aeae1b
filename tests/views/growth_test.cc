// Growth of old generations, from simulated blocks: each is sampled at random, and the truth is
// known.
#include "tools/report/views/growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tools/report/views/leaks_view.h"

namespace allomon::views {
namespace {

constexpr double kRate = 1e-3;
constexpr double kSize = 1000;
constexpr double kSeconds = 20;
constexpr double kNanos = 1e9;
// The bound of tests/support/statistics.h, which a normal variable never exceeds in practice.
constexpr double kMostSigmas = 5.7;
constexpr double kIntervalSigmas = 1.959963985;

uint8_t Log2(double nanos) {
  return nanos < 2 ? uint8_t{0} : static_cast<uint8_t>(std::floor(std::log2(nanos)));
}

// A function in a run of kSeconds.
class Simulated {
 public:
  explicit Simulated(uint64_t seed) : random_(seed) {
    sample_.has_size = true;
    sample_.size_bytes = static_cast<uint64_t>(kSize);
  }

  // Adds a block with this birth and maximal life.
  void Add(double birth_seconds, double life_seconds) {
    const double p = heap::ReportProbability(kSize, true, kRate);
    allocated_bytes_ += kSize;
    if (std::uniform_real_distribution<>()(random_) >= p) return;
    const double left = kSeconds - birth_seconds;
    const bool is_dead = life_seconds < left;
    heap::AgeCell cell;
    cell.log2_nanos = Log2(std::min(left, life_seconds) * kNanos);
    cell.amount = {1 / p, kSize / p};
    (is_dead ? sample_.deaths : sample_.ages).push_back(cell);
    if (!is_dead) sample_[heap::Metric::kLive].Add(cell.amount);
    sample_[heap::Metric::kAllocated].Add(cell.amount);
  }
  // Adds this many blocks in each second of [begin, end).
  template <typename Life>
  void AddAll(double begin, double end, double per_second, const Life& life) {
    for (double at = begin; at < end; at += 1 / per_second) Add(at, life());
  }

  Growth Grown() const {
    Growth growth;
    growth.Add(sample_, {kRate}, Run());
    return growth;
  }
  GrowthRate Rate() const { return RateOf(Grown(), Run()); }
  static Generations Run() { return GenerationsOf(kSeconds * kNanos); }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
  heap::Sample sample_;
  double allocated_bytes_ = 0;
};

constexpr double kForEver = 1e9;

// Half of an interval of 95 % is 1.96 standard deviations.
void ExpectRate(const GrowthRate& rate, double truth) {
  const double sigma =
      std::max(rate.bytes - rate.interval.low, rate.interval.high - rate.bytes) / kIntervalSigmas;
  EXPECT_LE(std::abs(rate.bytes - truth), kMostSigmas * sigma) << rate.bytes << " of " << truth;
}

TEST(GrowthTest, LeakGrowsByWhatItLeaks) {
  Simulated leak(1);
  leak.AddAll(0, kSeconds, 2000, [] { return kForEver; });
  ExpectRate(leak.Rate(), 2000 * kSize);
  EXPECT_GT(leak.Rate().interval.low, 0);
  EXPECT_LT(leak.Rate().interval.high, 1.3 * 2000 * kSize);
  EXPECT_FALSE(HasStopped(leak.Grown(), Simulated::Run()));
}

TEST(GrowthTest, CacheThatFilledAndStaysHasStopped) {
  Simulated cache(2);
  cache.AddAll(0, kSeconds * 0.6, 2000, [] { return kForEver; });
  EXPECT_TRUE(HasStopped(cache.Grown(), Simulated::Run()));
}

TEST(GrowthTest, CacheThatFillsYetGrows) {
  Simulated cache(3);
  cache.AddAll(kSeconds * 0.5, kSeconds, 2000, [] { return kForEver; });
  ExpectRate(cache.Rate(), 2000 * kSize);
}

TEST(GrowthTest, ChurnOfAnyAgeDoesNotGrow) {
  for (const double mean : {0.01, 0.5, 2.0, 4.0}) {
    Simulated churn(static_cast<uint64_t>(100 * mean));
    std::exponential_distribution<> life(1 / mean);
    churn.AddAll(0, kSeconds, 4000, [&] { return life(churn.random()); });
    // Deaths are spread over the whole run, and are missing at its beginning.
    EXPECT_LT(churn.Rate().bytes, 0.05 * 4000 * kSize) << mean;
  }
}

TEST(GrowthTest, CacheWhoseBlocksDieAtOneAgeDoesNotGrow) {
  for (const double age : {1.5, 3.0, 5.0}) {
    Simulated cache(7);
    cache.AddAll(0, kSeconds, 4000, [age] { return age; });
    EXPECT_LE(cache.Rate().interval.low, 0) << age;
  }
}

TEST(GrowthTest, LeakOfOneInAHundredAmongChurn) {
  Simulated both(4);
  std::exponential_distribution<> life(1 / 0.05);
  both.AddAll(0, kSeconds, 20'000, [&] { return life(both.random()); });
  both.AddAll(0, kSeconds, 200, [] { return kForEver; });
  ExpectRate(both.Rate(), 200 * kSize);
  EXPECT_GT(both.Rate().interval.low, 0);
}

TEST(GrowthTest, IntervalHoldsTheTruthIn95Of100Runs) {
  constexpr int kRuns = 1000;
  int held = 0;
  for (int run = 0; run < kRuns; ++run) {
    Simulated leak(static_cast<uint64_t>(1000 + run));
    leak.AddAll(0, kSeconds, 30, [] { return kForEver; });
    const GrowthRate rate = leak.Rate();
    held += rate.interval.low <= 30 * kSize && rate.interval.high >= 30 * kSize;
  }
  const double sigma = std::sqrt(kRuns * 0.95 * 0.05);
  EXPECT_NEAR(held, 0.95 * kRuns, kMostSigmas * sigma);
}

TEST(GrowthTest, NothingSampledIsNoProofOfNothing) {
  Simulated one(5);
  one.AddAll(kSeconds - 0.5, kSeconds, 2000, [] { return kForEver; });
  EXPECT_EQ(one.Rate().bytes, 0);
  EXPECT_GT(one.Rate().interval.high, 0);
}

TEST(GrowthTest, RunsOfImpossibleLengthHaveNoGenerations) {
  for (const double nanos : {0.0, -1.0, 15.0, 1e30, std::nan("")}) {
    EXPECT_EQ(GenerationsOf(nanos).nanos, 0) << nanos;
    EXPECT_EQ(RateOf({}, GenerationsOf(nanos)).bytes, 0) << nanos;
    EXPECT_FALSE(HasStopped({}, GenerationsOf(nanos)));
  }
  EXPECT_EQ(GenerationsOf(16).nanos, 8 - 2);
}

}  // namespace
}  // namespace allomon::views
