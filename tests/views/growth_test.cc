// Growth of old generations, from simulated blocks: each is sampled at random, and the truth is
// known.
#include "tools/report/views/growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tools/heap/born.h"
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

// A function in a run of kSeconds, or of bursts of load.
class Simulated {
 public:
  explicit Simulated(uint64_t seed) : Simulated(seed, {{0, kSeconds}}, kSeconds) {}
  // The program allocates in these spans of time alone, evenly.
  Simulated(uint64_t seed, std::vector<std::pair<double, double>> bursts, double seconds)
      : random_(seed), bursts_(std::move(bursts)), seconds_(seconds) {
    for (const auto& [begin, end] : bursts_) {
      timeline_.push_back({begin, load_seconds_ * kLoad});
      load_seconds_ += end - begin;
      timeline_.push_back({end, load_seconds_ * kLoad});
    }
    sample_.has_size = true;
    sample_.size_bytes = static_cast<uint64_t>(kSize);
  }

  // Adds a block with this birth and maximal life.
  void Add(double birth_seconds, double life_seconds) {
    const double p = heap::ReportProbability(kSize, true, kRate);
    allocated_bytes_ += kSize;
    if (std::uniform_real_distribution<>()(random_) >= p) return;
    const double left = seconds_ - birth_seconds;
    const bool is_dead = life_seconds < left;
    heap::AgeCell cell;
    cell.log2_nanos = Log2(std::min(left, life_seconds) * kNanos);
    if (!is_dead) cell.eighth = heap::EighthOf(static_cast<uint64_t>(left * kNanos));
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
  // Adds this many blocks in each second of load.
  template <typename Life>
  void AddInBursts(double per_second, const Life& life) {
    for (const auto& [begin, end] : bursts_) AddAll(begin, end, per_second, life);
  }

  GrowthRate Rate() const { return RateOf(Grown(), Run()); }
  Generations Run() const { return GenerationsOf(seconds_ * kNanos, timeline_, true); }
  bool HasStopped() const { return views::HasStopped(Grown(), Run()); }
  // The seconds of load in which the blocks of the measured generations were born.
  double MeasuredLoad() const {
    const Generations run = Run();
    const auto until = [&](int border) {
      const double seconds = std::max(0.0, seconds_ - std::exp2(border / 8.0) / kNanos);
      return AllocatedUntil(timeline_, seconds) / kLoad;
    };
    return until(run.first) - until(run.end);
  }
  // The share of the run in which there is load.
  double LoadShare() const { return load_seconds_ / seconds_; }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr double kLoad = 1e9;  // bytes in a second of load

  std::mt19937_64 random_;
  const std::vector<std::pair<double, double>> bursts_;
  const double seconds_;
  double load_seconds_ = 0;
  std::vector<heap::TimelinePoint> timeline_;
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
  EXPECT_FALSE(leak.HasStopped());
}

TEST(GrowthTest, CacheThatFilledAndStaysHasStopped) {
  Simulated cache(2);
  cache.AddAll(0, kSeconds * 0.6, 2000, [] { return kForEver; });
  EXPECT_TRUE(cache.HasStopped());
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
    const Generations generations = GenerationsOf(nanos, {}, false);
    EXPECT_EQ(generations.nanos, 0) << nanos;
    EXPECT_EQ(RateOf({}, generations).bytes, 0) << nanos;
    EXPECT_FALSE(HasStopped({}, generations));
  }
  EXPECT_EQ(GenerationsOf(16, {}, false).nanos, 8 - 2);
}

TEST(GrowthTest, AllocationIsEvenBetweenPoints) {
  const std::vector<heap::TimelinePoint> timeline = {
      {10, 100, 0, 0}, {20, 300, 0, 0}, {20, 400, 0, 0}};
  for (const auto& [seconds, bytes] : std::vector<std::pair<double, double>>{
           {-1, 0}, {0, 0}, {5, 50}, {10, 100}, {15, 200}, {20, 300}, {21, 400}, {1e9, 400}}) {
    EXPECT_NEAR(AllocatedUntil(timeline, seconds), bytes, 1e-9) << seconds;
  }
  EXPECT_EQ(AllocatedUntil({}, 5), 0);
}

// Timelines of other tools may be anything.
TEST(GrowthTest, AnyTimelineMakesGenerationsOfTheRunOrNone) {
  std::mt19937_64 random(6);
  const double values[] = {0, 1, -1, 1e-300, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, std::nan("")};
  const auto any = [&] { return values[random() % std::size(values)] * (1 + random() % 20); };
  for (int i = 0; i < 100'000; ++i) {
    std::vector<heap::TimelinePoint> timeline(random() % 5);
    for (heap::TimelinePoint& point : timeline) point = {any(), any(), any(), any()};
    const double nanos = std::exp2(static_cast<double>(random() % 62));
    const Generations generations = GenerationsOf(nanos, timeline, random() % 2 == 0);
    if (generations.nanos == 0) continue;
    ASSERT_TRUE(generations.nanos > 0 && generations.nanos <= nanos) << i;
    ASSERT_TRUE(generations.old_nanos > 0 && generations.old_nanos <= nanos) << i;
    ASSERT_LE(generations.first, generations.end) << i;
  }
}

// ---- Load in bursts: 25 s, a pause of 2.5 minutes, 12 s.  No block has an age of an eighth to a
// half of the run.

Simulated InBursts(uint64_t seed) { return Simulated(seed, {{0, 25}, {175, 187}}, 187); }

TEST(BurstTest, LeakGrowsByWhatItLeaksAtTheMeanLoad) {
  Simulated leak = InBursts(11);
  leak.AddInBursts(2000, [] { return kForEver; });
  ExpectRate(leak.Rate(), 2000 * kSize * leak.LoadShare());
  EXPECT_GT(leak.Rate().interval.low, 0);
  EXPECT_FALSE(leak.HasStopped());
}

TEST(BurstTest, CacheThatFilledInTheFirstBurstHasStopped) {
  Simulated cache = InBursts(12);
  cache.AddAll(0, 10, 2000, [] { return kForEver; });
  EXPECT_TRUE(cache.HasStopped());
}

// Some of the blocks live through the pause.
TEST(BurstTest, ChurnDoesNotGrow) {
  for (const double mean : {0.01, 0.5, 2.0}) {
    Simulated churn = InBursts(static_cast<uint64_t>(100 * mean));
    std::exponential_distribution<> life(1 / mean);
    churn.AddInBursts(4000, [&] { return life(churn.random()); });
    EXPECT_LT(churn.Rate().bytes, 0.05 * 4000 * kSize * churn.LoadShare()) << mean;
  }
}

// Up to five bursts of 1 to 30 s, with pauses of 1 to 300 s between them and at the end.
TEST(BurstTest, IntervalHoldsTheTruthIn95Of100RunsOfRandomBursts) {
  constexpr double kPerSecond = 60;
  std::mt19937_64 random(13);
  std::uniform_real_distribution<> log_burst(0, std::log(30)), log_pause(0, std::log(300));
  int runs = 0, held = 0, by_allocation = 0;
  while (runs < 1000) {
    std::vector<std::pair<double, double>> bursts;
    double now = 0;
    for (uint64_t count = 2 + random() % 4; bursts.size() < count;) {
      const double begin = now + (bursts.empty() ? 0 : std::exp(log_pause(random)));
      now = begin + std::exp(log_burst(random));
      bursts.emplace_back(begin, now);
    }
    Simulated leak(random(), bursts, now);
    if (leak.Run().is_silent) continue;
    ++runs;
    leak.AddInBursts(kPerSecond, [] { return kForEver; });
    const GrowthRate rate = leak.Rate();
    const double seconds = leak.Run().nanos / kNanos;
    const double truth = kPerSecond * kSize * leak.MeasuredLoad() / seconds;
    by_allocation += leak.Run().is_by_allocation;
    held += rate.interval.low <= truth && rate.interval.high >= truth;
  }
  const double sigma = std::sqrt(runs * 0.95 * 0.05);
  EXPECT_NEAR(held, 0.95 * runs, kMostSigmas * sigma) << by_allocation;
  EXPECT_GT(by_allocation, runs / 10);
}

// A server that leaked, and was idle before somebody asked: all ages are close together.
TEST(BurstTest, LeakBeforeALongPauseGrows) {
  for (const double pause : {0.5, 1.0, 4.0}) {
    Simulated leak(15, {{0, 2}, {2 + pause, 2.1 + pause}}, 2.1 + pause);
    leak.AddInBursts(20'000, [] { return kForEver; });
    ExpectRate(leak.Rate(), 20'000 * kSize * leak.MeasuredLoad() / (leak.Run().nanos / kNanos));
    EXPECT_GT(leak.Rate().interval.low, 0) << pause;
    EXPECT_FALSE(leak.HasStopped()) << pause;
  }
}

TEST(BurstTest, WhatWasSetUpBeforeALongPauseHasStopped) {
  for (const double pause : {0.5, 1.0, 4.0}) {
    Simulated kept(16, {{0, 2}, {2 + pause, 2.1 + pause}}, 2.1 + pause);
    kept.AddAll(0, 0.5, 20'000, [] { return kForEver; });
    EXPECT_TRUE(kept.HasStopped()) << pause;
  }
}

// Less is allocated in the measured time than before: the leak is as much of it as ever.
TEST(BurstTest, LeakOfAProgramThatSlowsDownHasNotStopped) {
  std::vector<std::pair<double, double>> bursts = {{0, 12}};
  for (double at = 12; at < 20; ++at) bursts.emplace_back(at, at + 0.22);
  Simulated leak(17, bursts, 20.001);
  ASSERT_FALSE(leak.Run().is_by_allocation);
  leak.AddInBursts(5000, [] { return kForEver; });
  EXPECT_FALSE(leak.HasStopped());
}

// One burst, and a last moment: no age tells what grows.
TEST(BurstTest, WhatWasAllocatedAtOnceTellsNothing) {
  Simulated one(14, {{0, 1}, {3599.9, 3600}}, 3600);
  EXPECT_TRUE(one.Run().is_silent);
  EXPECT_FALSE(one.HasStopped());
}

// The blocks of one stack in a run of kSeconds.
class SimulatedStack {
 public:
  explicit SimulatedStack(uint64_t seed) : random_(seed) {}

  void Add(double birth_seconds, double life_seconds, double size_bytes) {
    const double p = heap::ReportProbability(size_bytes, true, kRate);
    heap::Sample& sample = samples_[static_cast<uint64_t>(size_bytes)];
    sample.size_bytes = static_cast<uint64_t>(size_bytes);
    sample.has_size = true;
    if (std::uniform_real_distribution<>()(random_) >= p) return;
    const double left = kSeconds - birth_seconds;
    heap::AgeCell cell;
    cell.log2_nanos = Log2(std::min(left, life_seconds) * kNanos);
    cell.amount = {1 / p, size_bytes / p};
    if (life_seconds < left) {
      sample.deaths.push_back(cell);
    } else {
      sample.ages.push_back(cell);
      sample[heap::Metric::kLive].Add(cell.amount);
    }
  }
  // Adds a table into which entries come evenly, and which doubles when it is full.
  void AddTable(double first_bytes, double bytes_per_second) {
    double birth = 0, bytes = first_bytes;
    for (; bytes / bytes_per_second < kSeconds; bytes *= 2) {
      const double full = bytes / bytes_per_second;
      Add(birth, full - birth, bytes);
      birth = full;
    }
    Add(birth, kForEver, bytes);
  }
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random_);
  }
  std::mt19937_64& random() { return random_; }

  bool GrowsInSteps() const {
    std::vector<Site> sites;
    for (const auto& [size, sample] : samples_) sites.push_back({&sample, 0});
    const std::vector<bool> steps =
        GrowInSteps(sites, {kRate}, GenerationsOf(kSeconds * kNanos, {}, true));
    for (const bool is_step : steps) EXPECT_EQ(is_step, steps.front());
    return steps.front();
  }

 private:
  std::mt19937_64 random_;
  std::map<uint64_t, heap::Sample> samples_;
};

constexpr int kStacks = 200;

TEST(StepsTest, TableThatDoublesIsToldWhateverItsPhase) {
  for (int i = 0; i < kStacks; ++i) {
    SimulatedStack stack(static_cast<uint64_t>(i));
    stack.AddTable(64, std::exp2(20 + static_cast<double>(i) / kStacks) / kSeconds);
    EXPECT_TRUE(stack.GrowsInSteps()) << i;
  }
}

TEST(StepsTest, ManySmallTablesOfAboutOneSizeAreTold) {
  for (int i = 0; i < 20; ++i) {
    SimulatedStack stack(static_cast<uint64_t>(i));
    const double rate = std::exp2(12 + i / 20.0) / kSeconds;
    for (int table = 0; table < 1000; ++table) stack.AddTable(64, rate);
    EXPECT_TRUE(stack.GrowsInSteps()) << i;
  }
}

TEST(StepsTest, CachesOfMixedSizesAreNotTables) {
  for (const double least_bytes : {16.0, 500.0, 100'000.0}) {
    for (const double life : {1.0, 3.0, 6.0}) {
      for (const double per_second : {5.0, 50.0, 1000.0}) {
        for (int i = 0; i < kStacks / 10; ++i) {
          SimulatedStack stack(static_cast<uint64_t>(i));
          std::exponential_distribution<> lives(1 / life);
          for (double at = 0; at < kSeconds; at += 1 / per_second) {
            const double bytes = least_bytes * std::exp2(std::floor(stack.Uniform(0, 8)));
            stack.Add(at, lives(stack.random()), bytes);
          }
          EXPECT_FALSE(stack.GrowsInSteps()) << least_bytes << " " << life << " " << per_second;
        }
      }
    }
  }
}

TEST(StepsTest, SmallBlocksThatMakeRoomForLargerOnesAreACache) {
  SimulatedStack stack(1);
  for (int i = 0; i < 100; ++i) {
    for (const double at : {0.0, 1.0, 2.0, 3.0}) stack.Add(at, 4, 10'000);
  }
  for (int i = 0; i < 20; ++i) stack.Add(15, kForEver, 50'000);
  EXPECT_FALSE(stack.GrowsInSteps());
}

TEST(StepsTest, SizesThatAreNotKnownTellNothing) {
  heap::Sample sample;
  sample[heap::Metric::kLive] = {100, 1e8};
  sample.ages.push_back({0, Log2(5 * kNanos), false, {100, 1e8}});
  sample.deaths.push_back({0, Log2(5 * kNanos), false, {100, 1e7}});
  const Generations generations = GenerationsOf(kSeconds * kNanos, {}, true);
  EXPECT_FALSE(GrowInSteps({{&sample, 0}}, {kRate}, generations).front());
}

}  // namespace
}  // namespace allomon::views
