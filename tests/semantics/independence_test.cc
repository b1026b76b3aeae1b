// Three trackers at once, each at its own rate: each obeys the law as if it were alone, independent
// of the others.  For malloc blocks and for managed ones.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::BinomialTolerance;

constexpr double kRates[] = {1e-2, 1e-3, 1e-4};
constexpr int kTrackers = 3;
constexpr uint64_t kBlocks = 4000000;
constexpr uint64_t kPayloadWords = 8;
constexpr uint64_t kTrials = kPayloadWords + 1;

// The trackers that reported each block, and each tracker's total number of reports.
struct Observed {
  uint64_t samples[kTrackers] = {};
  uint64_t reports[kTrackers] = {};
  uint64_t together[kTrackers][kTrackers] = {};
  bool current[kTrackers] = {};

  void EndBlock() {
    for (int i = 0; i < kTrackers; ++i) {
      for (int j = 0; j < i; ++j) together[i][j] += current[i] && current[j] ? 1 : 0;
    }
    for (bool& reported : current) reported = false;
  }
};

class OneTracker {
 public:
  OneTracker(Observed* observed, int index) : observed_(observed), index_(index) {}
  std::optional<int> alloc_minor(const Allocation& allocation) { return Hear(allocation); }
  std::optional<int> alloc_major(const Allocation& allocation) { return Hear(allocation); }

 private:
  std::optional<int> Hear(const Allocation& allocation) {
    EXPECT_EQ(allocation.size_words, kPayloadWords);
    observed_->samples[index_] += allocation.n_samples;
    ++observed_->reports[index_];
    observed_->current[index_] = true;
    return std::nullopt;
  }

  Observed* observed_;
  int index_;
};

void AllocateNative(Observed* observed) {
  for (uint64_t i = 0; i < kBlocks; ++i) {
    SamplingFree(SamplingMalloc(kPayloadWords * 8));
    observed->EndBlock();
  }
}

void AllocateManaged(Observed* observed) {
  const auto heap = gc::Heap::Create().value();
  const gc::Mutator mutator(*heap);
  for (uint64_t i = 0; i < kBlocks; ++i) {
    gc::make_bytes((kPayloadWords - 1) * 8);  // its length is a word too
    observed->EndBlock();
  }
}

struct Case {
  const char* name;
  void (*allocate)(Observed*);
};

class IndependenceTest : public ::testing::TestWithParam<Case> {};

TEST_P(IndependenceTest, EachTrackerObeysItsOwnRateAndKnowsNothingOfTheOthers) {
  Observed observed;
  StartOptions options;
  options.callstack_size = 0;
  options.concurrent = true;
  std::vector<TrackerId> ids;
  for (int i = 0; i < kTrackers; ++i) {
    options.seed = 11;  // the same seed for all: even so their streams must differ
    ids.push_back(Tracker::start(kRates[i], OneTracker(&observed, i), options).value());
  }
  GetParam().allocate(&observed);
  for (const TrackerId id : ids) ASSERT_TRUE(Tracker::stop(id).ok());

  for (int i = 0; i < kTrackers; ++i) {
    const auto trials = static_cast<double>(kBlocks * kTrials);
    EXPECT_NEAR(static_cast<double>(observed.samples[i]), trials * kRates[i],
                BinomialTolerance(trials, kRates[i]));
    const double p = ReportProbability(kTrials, kRates[i]);
    EXPECT_NEAR(static_cast<double>(observed.reports[i]), static_cast<double>(kBlocks) * p,
                BinomialTolerance(static_cast<double>(kBlocks), p));
    for (int j = 0; j < i; ++j) {
      const double p_both = p * ReportProbability(kTrials, kRates[j]);
      EXPECT_NEAR(static_cast<double>(observed.together[i][j]),
                  static_cast<double>(kBlocks) * p_both,
                  BinomialTolerance(static_cast<double>(kBlocks), p_both))
          << "trackers " << i << " and " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heaps, IndependenceTest,
                         ::testing::Values(Case{"Native", AllocateNative},
                                           Case{"Managed", AllocateManaged}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace allomon
