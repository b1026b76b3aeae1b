// Weights of sampled blocks at one rate, computed once for each small size.
//
// Thread safe, and for use inside malloc: no lock, no malloc.
#ifndef ALLOMON_TRACKER_CORE_SAMPLE_WEIGHTS_H_
#define ALLOMON_TRACKER_CORE_SAMPLE_WEIGHTS_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/own_memory.h"
#include "tracker/estimate.h"

namespace allomon::internal {

// The Horvitz-Thompson estimate (estimate.h) for one byte, or one block.
struct SampleWeight {
  double amount;    // 1/p, times the scale
  double variance;  // (1 - p)/p^2
};

class SampleWeights {
 public:
  explicit SampleWeights(double rate, double scale = 1)
      : rate_(rate), scale_(scale), end_(small_ != nullptr ? kSmallWords : 0) {}
  ~SampleWeights() {
    if (small_ != nullptr) OwnMemory::Unmap(small_, kSmallWords * sizeof(Known));
  }
  SampleWeights(const SampleWeights&) = delete;
  SampleWeights& operator=(const SampleWeights&) = delete;

  SampleWeight Of(uint64_t trial_words) {
    if (__builtin_expect(trial_words >= end_, 0)) return Compute(trial_words);
    const Known& known = small_[trial_words];
    // Pairs with the release in LearnSlow().
    const double amount = known.amount.load(std::memory_order_acquire);
    if (__builtin_expect(amount == 0, 0)) return LearnSlow(trial_words);
    return {amount, known.variance.load(std::memory_order_relaxed)};
  }

 private:
  // Blocks up to 4 KiB with their header.  A logarithm and an exponential are half of the cost of a
  // sample, and larger blocks are few.
  static constexpr uint64_t kSmallWords = 514;

  struct Known {
    std::atomic<double> amount;  // 0: not yet
    std::atomic<double> variance;
  };

  SampleWeight Compute(uint64_t trial_words) const {
    Estimate one;
    one.Add(1, ReportProbability(trial_words, rate_));
    return {one.value * scale_, one.variance};
  }

  // Two threads that compute the same size at once store the same numbers.
  SampleWeight LearnSlow(uint64_t trial_words) {
    const SampleWeight weight = Compute(trial_words);
    small_[trial_words].variance.store(weight.variance, std::memory_order_relaxed);
    small_[trial_words].amount.store(weight.amount, std::memory_order_release);
    return weight;
  }

  const double rate_;
  const double scale_;
  // Own memory is zero, and pages that are not read are never touched.  nullptr if the kernel
  // refused it.
  Known* const small_ = static_cast<Known*>(OwnMemory::Map(kSmallWords * sizeof(Known)));
  const uint64_t end_;  // of small_
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_SAMPLE_WEIGHTS_H_
