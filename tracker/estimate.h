// Unbiased estimates of the program's totals from samples, each with its variance.
//
// A block of w words (header excluded) is reported with probability p = 1 - (1 - rate)^(w + 1).
// Horvitz and Thompson (1952) weigh each reported value by 1/p, which is unbiased whatever the
// sizes are, and estimate the variance of the sum by the sum of value^2 (1 - p) / p^2.  Weigh first
// and sum afterwards: the average size of a group of blocks must never stand in for their sizes.
//
// Plain values; thread-compatible; nothing here fails, allocates or locks.
#ifndef ALLOMON_TRACKER_ESTIMATE_H_
#define ALLOMON_TRACKER_ESTIMATE_H_

#include <cmath>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/base/words.h"

namespace allomon {

// Number of words that stand trial for this block: its own, rounded up from bytes, and, except for
// kCustom, the header.
inline uint64_t TrialWords(uint64_t size_bytes, AllocationSource source) {
  return source == AllocationSource::kCustom ? internal::WordsOf(size_bytes)
                                             : internal::WordsWithHeader(size_bytes);
}
inline uint64_t TrialWords(const Allocation& allocation) {
  return TrialWords(allocation.size_bytes, allocation.source);
}

// Probability in (0, 1] that a block with this number of trials is reported; accurate also if (1 -
// rate)^words is close to 1.
double ReportProbability(uint64_t trial_words, double rate);

// A sum over all blocks of the program, estimated from the sampled ones.
struct Estimate {
  double value = 0;
  double variance = 0;

  void Add(double sampled_value, double probability) {
    const double weighted = sampled_value / probability;
    value += weighted;
    variance += weighted * weighted * (1 - probability);
  }
  void Add(const Estimate& other) {
    value += other.value;
    variance += other.variance;
  }
  // Half the width of the interval that contains the true value with the confidence of `sigmas`
  // (1.96: 95 %).  It is a normal approximation, which needs ten samples or more.
  double HalfWidth(double sigmas) const { return sigmas * std::sqrt(variance); }
};

// Blocks and bytes together: a row of a report.
struct HeapEstimate {
  Estimate blocks;
  Estimate bytes;

  void Add(const Allocation& allocation) {
    const double p = ReportProbability(TrialWords(allocation), allocation.rate);
    blocks.Add(1, p);
    bytes.Add(static_cast<double>(allocation.size_bytes), p);
  }
  void Add(const HeapEstimate& other) {
    blocks.Add(other.blocks);
    bytes.Add(other.bytes);
  }
};

// Memprof's own estimate of the words allocated, headers included: n_samples / rate.  It is
// unbiased too, but its variance does not shrink for blocks that are certain to be sampled.
inline double MemprofWords(const Allocation& allocation) {
  return static_cast<double>(allocation.n_samples) / allocation.rate;
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_ESTIMATE_H_
