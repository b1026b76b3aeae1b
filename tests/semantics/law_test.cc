// The sampling law through the whole allocator: hits, and the estimates made of them, for every
// size and rate, on one thread and on four.
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
  // Enough blocks for a significant number of hits, and few enough for a second.
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

// A gap that ends inside one block continues in the next: no size in a mixture may be starved.
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

}  // namespace
}  // namespace allomon
