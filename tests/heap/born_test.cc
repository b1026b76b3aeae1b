// Profiles of a part of the time: live blocks by their birth, and what happened since an earlier
// profile.
#include "tools/heap/born.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tools/heap/interval.h"
#include "tools/heap/join.h"

namespace allomon::heap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kForEver = std::numeric_limits<double>::infinity();
constexpr uint64_t kSecond = 1'000'000'000;

AgeCell CellOf(uint64_t nanos, double blocks, double bytes) {
  return {20,
          static_cast<uint8_t>(63 - __builtin_clzll(nanos | 1)),
          false,
          {blocks, bytes},
          EighthOf(nanos)};
}

TEST(BornTest, TwoAgesInAnyOrderOrOne) {
  const auto parsed = [](std::string_view text) {
    const auto born = ParseBorn(text);
    return born ? std::vector<double>{born->oldest_seconds, born->youngest_seconds}
                : std::vector<double>{};
  };
  EXPECT_THAT(parsed("10m..2m"), ElementsAre(600, 120));
  EXPECT_THAT(parsed("2m..10m"), ElementsAre(600, 120));
  EXPECT_THAT(parsed("1.5h..500ms"), ElementsAre(5400, 0.5));
  EXPECT_THAT(parsed("2d.."), ElementsAre(2 * 86'400, 0));
  EXPECT_THAT(parsed("..30s"), ElementsAre(kForEver, 30));
  for (const char* text : {"", "..", "10m", "10..2", "10m...2m", "2m..2m", "-1s..2s", "1e3s..",
                           "10 m..", "10M..2M", "infs..", "..0s..", "nan..", "1s..x"}) {
    EXPECT_THAT(parsed(text), ElementsAre()) << text;
  }
}

TEST(BornTest, EachAgeIsInItsEighth) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t nanos = random() >> (random() % 63);
    const double seconds = static_cast<double>(nanos) / 1e9;
    const Born ages = AgesOf(CellOf(nanos, 1, 1));
    EXPECT_LE(ages.youngest_seconds, seconds * (1 + 1e-12)) << nanos;
    EXPECT_GE(ages.oldest_seconds, seconds * (1 - 1e-12)) << nanos;
    if (nanos < 2) continue;
    EXPECT_NEAR(ages.oldest_seconds / ages.youngest_seconds, std::exp2(1.0 / 8), 1e-9);
  }
}

HeapProfile MadeOf(const std::vector<AgeCell>& ages) {
  HeapProfile profile;
  profile.rate = 1;
  profile.duration_seconds = 3600;
  profile.has.fill(true);
  Sample& sample = profile.samples.emplace_back();
  sample.has_size = true;
  sample.size_bytes = 100;
  sample.ages = ages;
  sample.deaths = ages;
  for (Amount& amount : sample.amounts) {
    for (const AgeCell& cell : ages) amount.Add(cell.amount);
  }
  return profile;
}

TEST(BornTest, OnlyLiveBlocksOfThatTimeAreKept) {
  HeapProfile profile = MadeOf(
      {CellOf(30 * kSecond, 1, 100), CellOf(300 * kSecond, 2, 200), CellOf(900 * kSecond, 4, 400)});
  profile.timeline = {{3600, 3 << 20, 0, 0}};
  EXPECT_EQ(KeepBorn(*ParseBorn("10m..2m"), &profile), "");
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples[0][Metric::kLive].bytes, 200);
  EXPECT_EQ(profile.samples[0][Metric::kAllocated].bytes, 0);
  EXPECT_TRUE(profile.samples[0].deaths.empty());
  EXPECT_TRUE(profile.timeline.empty());
  EXPECT_TRUE(Has(profile, Metric::kLive));
  EXPECT_FALSE(Has(profile, Metric::kAllocated));
  EXPECT_EQ(
      profile.notes.back(),
      "only what is live of blocks born from 10 min 0 s before the end until 2 min 0 s before the "
      "end; "
      "0 B to 3.0 MiB were allocated in that time");
}

TEST(BornTest, AllocationIsBoundedByThePointsAround) {
  HeapProfile profile = MadeOf({CellOf(300 * kSecond, 2, 200)});
  profile.timeline = {{2990, 100, 0, 0}, {3010, 150, 0, 0}, {3470, 700, 0, 0}, {3490, 720, 0, 0}};
  EXPECT_EQ(KeepBorn(*ParseBorn("10m..2m"), &profile), "");
  EXPECT_THAT(profile.notes.back(), HasSubstr("550 B to 620 B were allocated"));
}

TEST(BornTest, TimelineOfASumIsOneProcesss) {
  HeapProfile profile = MadeOf({CellOf(300 * kSecond, 2, 200)});
  profile.timeline = {{3600, 3 << 20, 0, 0}};
  profile.is_sum = true;
  EXPECT_EQ(KeepBorn(*ParseBorn("10m.."), &profile), "");
  EXPECT_EQ(profile.notes.back(),
            "only what is live of blocks born from 10 min 0 s before each process's end until each "
            "process's end");
}

// A class that is in the time in part is kept, and the note says which time that makes.
TEST(BornTest, TimeGrowsToWholeClasses) {
  HeapProfile profile = MadeOf({CellOf(590 * kSecond, 1, 100)});
  const Born ages = AgesOf(profile.samples[0].ages[0]);
  ASSERT_GT(ages.oldest_seconds, 595);
  EXPECT_EQ(KeepBorn({595, 592}, &profile), "");
  EXPECT_EQ(profile.samples.at(0)[Metric::kLive].blocks, 1);
  EXPECT_THAT(profile.notes.back(), HasSubstr("10 min 0 s before the end until 9 min 10 s before"));
}

TEST(BornTest, NothingOfThatTimeIsAProfileWithoutSamples) {
  HeapProfile profile = MadeOf({CellOf(30 * kSecond, 1, 100)});
  EXPECT_EQ(KeepBorn({600, 500}, &profile), "");
  EXPECT_TRUE(profile.samples.empty());
}

TEST(BornTest, WithoutAgesNothingIsChanged) {
  HeapProfile profile = MadeOf({});
  EXPECT_THAT(KeepBorn({600, 500}, &profile), HasSubstr("no age is known"));
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(KeepBorn({}, &profile), "");
  EXPECT_TRUE(Has(profile, Metric::kAllocated));
}

// A thousand programs have blocks with random births, sizes and deaths, which are sampled as the
// tracker samples.  The live blocks of some time are known.
TEST(BornTest, IntervalHoldsTheTruthIn95Of100Histories) {
  constexpr double kRate = 1e-3;
  constexpr int kHistories = 1000;
  int held = 0;
  for (int history = 0; history < kHistories; ++history) {
    std::mt19937_64 random(static_cast<uint64_t>(history));
    std::uniform_real_distribution<> uniform;
    const double end = 3600, mean_life = std::exp(uniform(random) * 9);
    HeapProfile profile = MadeOf({});
    profile.rate = kRate;
    const uint64_t size = 16 + random() % 2000;
    profile.samples[0].size_bytes = size;
    const double p = ReportProbability(size, true, kRate);
    // The time has the bounds of classes, so that the truth is of the same blocks.
    const int first = 8 * 36 + static_cast<int>(random() % 16);
    const double youngest = std::exp2(first / 8.0) / 1e9;
    const double oldest = std::exp2((first + 8 + static_cast<int>(random() % 24)) / 8.0) / 1e9;
    double truth = 0;
    const int blocks = static_cast<int>(std::lround(300 / p));
    for (int i = 0; i < blocks; ++i) {
      const double age = uniform(random) * end;
      if (-std::log(uniform(random)) * mean_life < age && i % 3 != 0) continue;
      if (age >= youngest && age < oldest) truth += static_cast<double>(size);
      if (uniform(random) >= p) continue;
      profile.samples[0].ages.push_back(
          CellOf(static_cast<uint64_t>(age * 1e9), 1 / p, static_cast<double>(size) / p));
    }
    // A hair inside of the bounds, since they are no whole numbers.
    ASSERT_EQ(KeepBorn({oldest * (1 - 1e-9), youngest * (1 + 1e-9)}, &profile), "");
    Estimate live;
    for (const Sample& sample : profile.samples) {
      live.Add(EstimateOf(sample[Metric::kLive], sample, SamplingOf(profile, Metric::kLive)));
    }
    const Interval interval = BytesInterval(live);
    held += interval.low <= truth && truth <= interval.high;
  }
  const double sigma = std::sqrt(kHistories * 0.95 * 0.05);
  EXPECT_NEAR(held, 0.95 * kHistories, 5.7 * sigma);
}

// ---- Since an earlier profile.

Sample& AddTo(HeapProfile* profile, uint64_t address, double bytes) {
  profile->locations.push_back({address, kNone, {}});
  Sample& sample = profile->samples.emplace_back();
  sample.stack = {static_cast<uint32_t>(profile->locations.size() - 1)};
  for (Amount& amount : sample.amounts) amount = {1, bytes};
  return sample;
}

TEST(SinceTest, AllocatedIsThatOfTheTimeBetweenAndLiveIsAll) {
  HeapProfile before = MadeOf({}), after = MadeOf({});
  before.samples.clear();
  after.samples.clear();
  before.duration_seconds = 10;
  after.duration_seconds = 13;
  // The samples have another order, and one is new.
  AddTo(&before, 1, 100);
  AddTo(&before, 2, 100);
  AddTo(&after, 3, 70);
  AddTo(&after, 2, 100);
  AddTo(&after, 1, 130);
  AddTo(&before, 4, 100).labels = {{"tenant", "a"}};
  AddTo(&after, 4, 100).labels = {{"tenant", "b"}};
  KeepSince(before, &after);
  EXPECT_EQ(after.duration_seconds, 3);
  EXPECT_FALSE(Has(after, Metric::kPeak));
  std::vector<double> allocated, live;
  for (const Sample& sample : after.samples) {
    allocated.push_back(sample[Metric::kAllocated].bytes);
    live.push_back(sample[Metric::kLive].bytes);
    EXPECT_EQ(sample[Metric::kPeak].bytes, 0);
  }
  EXPECT_THAT(allocated, ElementsAre(70, 0, 30, 100));
  EXPECT_THAT(live, ElementsAre(70, 100, 130, 100));
}

TEST(SinceTest, SourcesAreApart) {
  HeapProfile before = MadeOf({}), after = MadeOf({});
  before.samples.clear();
  after.samples.clear();
  AddTo(&before, 1, 100).source = Source::kMalloc;
  AddTo(&after, 1, 130).source = Source::kMalloc;
  AddTo(&after, 1, 50).source = Source::kMapped;
  KeepSince(before, &after);
  EXPECT_EQ(after.samples[0][Metric::kAllocated].bytes, 30);
  EXPECT_EQ(after.samples[1][Metric::kAllocated].bytes, 50);
}

TEST(SinceTest, TypesAreApart) {
  HeapProfile before = MadeOf({}), after = MadeOf({});
  before.samples.clear();
  after.samples.clear();
  AddTo(&before, 1, 100).type = "list";
  AddTo(&before, 1, 100).type = "dict";
  AddTo(&after, 1, 130).type = "dict";
  AddTo(&after, 1, 105).type = "list";
  KeepSince(before, &after);
  EXPECT_EQ(after.samples[0][Metric::kAllocated].bytes, 30);
  EXPECT_EQ(after.samples[1][Metric::kAllocated].bytes, 5);
}

// Two processes that have forked have the same addresses.
TEST(SinceTest, SamplesWithOneKeyLoseWhatTheyHadTogether) {
  HeapProfile before = MadeOf({}), after = MadeOf({});
  before.samples.clear();
  after.samples.clear();
  AddTo(&before, 1, 100);
  AddTo(&before, 1, 50);
  AddTo(&after, 1, 100);
  AddTo(&after, 1, 57);
  KeepSince(before, &after);
  EXPECT_EQ(after.samples[0][Metric::kAllocated].bytes, 0);
  EXPECT_EQ(after.samples[1][Metric::kAllocated].bytes, 7);
}

TEST(SinceTest, NoAmountIsBelowZero) {
  HeapProfile before = MadeOf({}), after = MadeOf({});
  before.samples.clear();
  after.samples.clear();
  AddTo(&before, 1, 100);
  AddTo(&after, 1, 90);
  KeepSince(before, &after);
  EXPECT_EQ(after.samples[0][Metric::kAllocated].bytes, 0);
}

}  // namespace
}  // namespace allomon::heap
