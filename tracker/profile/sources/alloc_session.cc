#include "tracker/profile/sources/alloc_session.h"

#include <atomic>
#include <memory>

#include "tracker/base/own_memory.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/valueless_client.h"
#include "tracker/estimate.h"
#include "tracker/formats/count_units.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/object_bytes.h"

namespace allomon::internal {
namespace {

// The estimate of Horvitz and Thompson (estimate.h) that a sampled block stands for: its amount in
// units of the counts, and its variance in bytes squared.
struct Weight {
  double amount;
  double variance;
};

Weight WeightOf(uint64_t trial_words, double rate) {
  Estimate one_byte;
  one_byte.Add(1, ReportProbability(trial_words, rate));
  return {one_byte.value * UnitsPerCount(ProfileKind::kAlloc), one_byte.variance};
}

// WeightOf() at the session's one rate.  For small blocks it is computed once for each size.  Any
// thread: two threads that compute the same size at once store the same numbers.
class Weights {
 public:
  explicit Weights(double rate) : rate_(rate), end_(small_ != nullptr ? kSmallWords : 0) {}
  ~Weights() {
    if (small_ != nullptr) OwnMemory::Unmap(small_, kSmallWords * sizeof(Known));
  }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  Weight Of(uint64_t trial_words) {
    if (__builtin_expect(trial_words >= end_, 0)) return WeightOf(trial_words, rate_);
    const Known& known = small_[trial_words];
    // Pairs with the release in LearnSlow().
    const double amount = known.amount.load(std::memory_order_acquire);
    if (__builtin_expect(amount == 0, 0)) return LearnSlow(trial_words);
    return {amount, known.variance.load(std::memory_order_relaxed)};
  }

 private:
  // Blocks up to 4 KiB, with their header.  A logarithm and an exponential are half of the cost of
  // a sample, and larger blocks are few.
  static constexpr uint64_t kSmallWords = 514;

  struct Known {
    std::atomic<double> amount;  // 0: not yet
    std::atomic<double> variance;
  };

  Weight LearnSlow(uint64_t trial_words) {
    const Weight weight = WeightOf(trial_words, rate_);
    small_[trial_words].variance.store(weight.variance, std::memory_order_relaxed);
    small_[trial_words].amount.store(weight.amount, std::memory_order_release);
    return weight;
  }

  const double rate_;
  // The profiler's own memory: it is zero, and a page that is not read is never touched.  nullptr
  // if the kernel refused it.
  Known* const small_ = static_cast<Known*>(OwnMemory::Map(kSmallWords * sizeof(Known)));
  const uint64_t end_;  // of small_
};

// Samples of a thread come one after the other: while one is reported, signal handlers have none.
void AddVariance(const ThreadProfile& thread, const DataUnit& unit, double variance) {
  if (__builtin_expect(thread.counts != nullptr, 1)) {
    thread.counts->AddOwnVariance(variance);
  } else {
    unit.common->AddVariance(variance);
  }
}

// Charges the running function, or the call stack.
void Charge(const TallySample& sample, uint64_t amount, double variance) {
  const BusyScope busy;
  ThreadProfile& thread = thread_profile;
  DataUnit& unit = UnitOf(thread);
  if (__builtin_expect(ChargesCallstacks() && thread.collecting == 0, 1)) {
    AddToStackTimes(thread, sample.sp, amount);
    unit.by_stack.Add(sample.stack, amount);
  } else {
    CountsOf(thread).Charge(RunningFunction(thread, sample.sp), amount);
  }
  if (variance > 0) AddVariance(thread, unit, variance);
}

class AllocClient final : public ValuelessClient {
 public:
  explicit AllocClient(double rate) : weights_(rate) {}

  void Tally(const TallySample& sample) override {
    const uint64_t trial_words = TrialWords(sample.size_bytes, sample.source);
    const Weight weight = weights_.Of(trial_words);
    // Signed, because processors convert signed integers to and from floating point, and no block
    // has 2^63 bytes.
    const int64_t size_bytes = static_cast<int64_t>(ObjectBytes(sample.size_bytes, sample.source));
    const double bytes = static_cast<double>(size_bytes);
    const int64_t rounded = static_cast<int64_t>(bytes * weight.amount + 0.5);
    Charge(sample, static_cast<uint64_t>(rounded), bytes * bytes * weight.variance);
  }

 private:
  Weights weights_;
};

}  // namespace

StartResult StartAllocSession(const AllocSessionOptions& options) {
  Session::Config config;
  config.rate = options.rate;
  config.seed = options.seed;
  config.callstack_size = options.frames;
  config.only_malloc = options.only_malloc;
  config.follows_blocks = false;
  config.is_tally = true;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<AllocClient>(options.rate);
  return StartSession(config, client);
}

}  // namespace allomon::internal
