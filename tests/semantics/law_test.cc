// The sampling law through the whole allocator: hits, and the estimates made of them,
// for every size and rate, on one thread and on four.
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/statistics.h"
#include "tracker/estimate.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::BinomialTolerance;

struct Sums {
  std::mutex mutex;
  uint64_t samples = 0;
  uint64_t reported = 0;
  HeapEstimate estimate;
};

class SummingTracker {
 public:
  explicit SummingTracker(Sums* sums) : sums_(sums) {}
  std::optional<int> alloc_major(const Allocation& allocation) {
    std::lock_guard<std::mutex> hold(sums_->mutex);
    sums_->samples += allocation.n_samples;
    ++sums_->reported;
    sums_->estimate.Add(allocation);
    return std::nullopt;
  }

 private:
  Sums* sums_;
};

struct Case {
  size_t size_bytes;
  double rate;
  int threads;
};

class LawTest : public ::testing::TestWithParam<Case> {
 protected:
  // Enough blocks for a telling number of hits, few enough for a second.
  static int BlocksPerThread(const Case& c) {
    const double words = static_cast<double>(c.size_bytes) / 8 + 1;
    const double wanted = 3000 / (words * c.rate);
    return static_cast<int>(std::fmin(std::fmax(wanted, 200), 2000000)) / c.threads;
  }
};

void AllocateAndFree(size_t size_bytes, int blocks) {
  for (int i = 0; i < blocks; ++i) {
    void* block = SamplingMalloc(size_bytes);
    ASSERT_NE(block, nullptr);
    SamplingFree(block);
  }
}

TEST_P(LawTest, HitsAndEstimatesLieWithinTheirBounds) {
  const Case c = GetParam();
  const int per_thread = BlocksPerThread(c);
  Sums sums;
  StartOptions options;
  options.seed = 20260101;
  options.callstack_size = 0;
  ASSERT_TRUE(Tracker::start(c.rate, SummingTracker(&sums), options).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < c.threads; ++t)
    threads.emplace_back(AllocateAndFree, c.size_bytes, per_thread);
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Tracker::stop().ok());

  const double blocks = static_cast<double>(per_thread) * c.threads;
  const uint64_t words = (c.size_bytes + 7) / 8 + 1;
  const double trials = blocks * static_cast<double>(words);
  EXPECT_NEAR(static_cast<double>(sums.samples), trials * c.rate,
              BinomialTolerance(trials, c.rate));
  // Reports are binomial, and both estimates are multiples of their number.
  const double p = ReportProbability(words, c.rate);
  const double tolerance = BinomialTolerance(blocks, p);
  EXPECT_NEAR(static_cast<double>(sums.reported), blocks * p, tolerance);
  EXPECT_NEAR(sums.estimate.blocks.value, blocks, tolerance / p + 1e-6);
  const double size = static_cast<double>(c.size_bytes);
  EXPECT_NEAR(sums.estimate.bytes.value, blocks * size, tolerance / p * size + 1e-6);
  if (c.rate == 1) {
    EXPECT_EQ(static_cast<double>(sums.samples), trials);
  }
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const size_t size : {0, 1, 8, 15, 16, 100, 4096, 1 << 20}) {
    for (const double rate : {1e-6, 1e-4, 1e-2, 0.5, 1.0}) {
      for (const int threads : {1, 4}) cases.push_back({size, rate, threads});
    }
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  const int exponent = static_cast<int>(std::lround(-std::log10(info.param.rate) * 10));
  return "Size" + std::to_string(info.param.size_bytes) + "RateTo" + std::to_string(exponent) +
         "Tenths" + std::to_string(info.param.threads) + "Threads";
}

INSTANTIATE_TEST_SUITE_P(SizesRatesThreads, LawTest, ::testing::ValuesIn(AllCases()), CaseName);

// A gap that ends inside one block goes on in the next: a mixture of sizes must not
// starve any of them.
TEST(LawTest, MixedSizesAreEachEstimatedWithoutBias) {
  struct PerSize {
    std::mutex mutex;
    std::map<uint64_t, double> reports;
  } per_size;
  class BySize {
   public:
    explicit BySize(PerSize* sums) : sums_(sums) {}
    std::optional<int> alloc_major(const Allocation& allocation) {
      std::lock_guard<std::mutex> hold(sums_->mutex);
      sums_->reports[allocation.size_bytes] += 1;
      return std::nullopt;
    }
    PerSize* sums_;
  };
  StartOptions options;
  options.seed = 7;
  options.callstack_size = 0;
  ASSERT_TRUE(Tracker::start(1e-3, BySize(&per_size), options).ok());
  constexpr int kRounds = 1000000;
  for (int i = 0; i < kRounds; ++i) {
    for (const size_t size : {8, 64, 500}) SamplingFree(SamplingMalloc(size));
  }
  ASSERT_TRUE(Tracker::stop().ok());
  for (const size_t size : {8, 64, 500}) {
    const double p = ReportProbability((size + 7) / 8 + 1, 1e-3);
    EXPECT_NEAR(per_size.reports[size], kRounds * p, BinomialTolerance(kRounds, p)) << size;
  }
}

// Three streams thinned out of one: each obeys its own rate, and whether one reports a
// block tells nothing about another.
TEST(LawTest, ConcurrentTrackersAreIndependent) {
  struct Both {
    std::atomic<uint64_t> samples[3] = {};
    std::atomic<uint64_t> reports[3] = {};
    std::atomic<uint64_t> current{0};
    uint64_t last[3] = {};
    std::atomic<uint64_t> together{0};
  } both;
  class One {
   public:
    One(Both* both, int index) : both_(both), index_(index) {}
    std::optional<int> alloc_major(const Allocation& allocation) {
      both_->samples[index_] += allocation.n_samples;
      ++both_->reports[index_];
      both_->last[index_] = both_->current;
      if (index_ != 1) return std::nullopt;
      if (both_->last[0] == both_->current) ++both_->together;
      return std::nullopt;
    }
    Both* both_;
    int index_;
  };
  constexpr double kRates[] = {1e-2, 1e-3, 1e-4};
  constexpr int kBlocks = 4000000;
  constexpr uint64_t kWords = 9;
  StartOptions options;
  options.seed = 11;
  options.callstack_size = 0;
  options.concurrent = true;
  std::vector<TrackerId> ids;
  for (int i = 0; i < 3; ++i) {
    const auto id = Tracker::start(kRates[i], One(&both, i), options);
    ASSERT_TRUE(id.ok());
    ids.push_back(*id);
  }
  for (int i = 1; i <= kBlocks; ++i) {
    both.current = static_cast<uint64_t>(i);
    SamplingFree(SamplingMalloc(64));
  }
  for (const TrackerId id : ids) ASSERT_TRUE(Tracker::stop(id).ok());
  for (int i = 0; i < 3; ++i) {
    const double trials = static_cast<double>(kBlocks) * kWords;
    EXPECT_NEAR(static_cast<double>(both.samples[i]), trials * kRates[i],
                BinomialTolerance(trials, kRates[i]));
    const double p = ReportProbability(kWords, kRates[i]);
    EXPECT_NEAR(static_cast<double>(both.reports[i]), kBlocks * p, BinomialTolerance(kBlocks, p));
  }
  const double p_both = ReportProbability(kWords, kRates[0]) * ReportProbability(kWords, kRates[1]);
  EXPECT_NEAR(static_cast<double>(both.together), kBlocks * p_both,
              BinomialTolerance(kBlocks, p_both));
}

}  // namespace
}  // namespace allomon
