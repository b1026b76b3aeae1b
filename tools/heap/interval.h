// Computes how precise an amount of a heap profile is.
//
// A block of w words is sampled with probability p = 1 - (1 - rate)^(w + 1), and counts as 1/p
// blocks.  If B blocks of one size are estimated, B p were sampled, and the sum has the variance B
// (1 - p) / p (Horvitz and Thompson 1952; tracker/estimate.h).  Blocks of one sample differ in size
// by an eighth at most, which changes the variance by less than a hundredth.
//
// All are functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_INTERVAL_H_
#define ALLOMON_TOOLS_HEAP_INTERVAL_H_

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// The lowest rate.  A lower one would sample nothing on any machine, and counts as not known.
inline constexpr double kLeastRate = 1e-12;

// Returns the probability that a block of that size is sampled.  `rate` must be above 0.
double ReportProbability(double size_bytes, bool has_header, double rate);

// The sampling of one metric of a profile.
struct Sampling {
  double rate = 0;          // has the meaning of HeapProfile::rate
  bool has_halves = false;  // each half of the sampler has chosen the moment of the other half
  bool is_whole = true;     // the recording has lost nothing that the metric counts

  bool IsKnown() const { return rate >= kLeastRate; }
  bool IsExact() const { return rate >= 1 && is_whole; }
};
Sampling SamplingOf(const HeapProfile& profile, Metric metric);

// Returns the probability p for which the estimate of a block has the variance (1 - p) / p.
// Without halves it is ReportProbability().  With halves, each half samples a block with the
// probability q = 1 - sqrt(1 - p).  The mean of their estimates has the variance (1 - q) / (2 q) if
// the moment is fixed.  But the halves may choose among moments that look alike, which makes the
// variance larger by up to a third; kHalvesVariance is in the middle (tracker/recording/README.md,
// 4).
inline constexpr double kHalvesVariance = 1.2;
double EffectiveProbability(double size_bytes, bool has_header, const Sampling& sampling);

// The estimate of an amount, with its second and third cumulants.  `sampled` is the number of
// sampled blocks.
struct Estimate {
  Amount amount;
  double blocks_variance = 0;
  double bytes_variance = 0;
  double sampled = 0;
  double blocks_third = 0;
  double bytes_third = 0;
  // The largest weight of one sample of the row's sizes, even if the row has no sample.
  double most_blocks = 0;
  double most_bytes = 0;
  bool is_whole = true;

  void Add(const Estimate& other) {
    amount.Add(other.amount);
    blocks_variance += other.blocks_variance;
    bytes_variance += other.bytes_variance;
    sampled += other.sampled;
    blocks_third += other.blocks_third;
    bytes_third += other.bytes_third;
    most_blocks = most_blocks > other.most_blocks ? most_blocks : other.most_blocks;
    most_bytes = most_bytes > other.most_bytes ? most_bytes : other.most_bytes;
    is_whole = is_whole && other.is_whole;
  }
};

// Returns the amount with 0 for NaN and infinities, and with 1e30 as its largest value.
Amount Bounded(const Amount& amount);

// Returns the estimate of the bounded amount.  A rate of 0 gives no variance, and `sampled` 0.
Estimate EstimateOf(const Amount& amount, const Sample& sample, const Sampling& sampling);

// Returns the sum over all rows.  If it is 0, blocks of any size may still exist of which no sample
// was taken.
Estimate EstimateOfAll(const HeapProfile& profile, Metric metric);

// An interval that contains the true value in 95 of 100 runs.
struct Interval {
  double low = 0;
  double high = 0;
};

// Returns the interval of an estimated value of 0 or more.  It is Wilson's score interval, which
// covers 95 % also for few samples, for which the normal interval covers less.  Without a variance
// the interval is the value alone.
Interval IntervalOf(double value, double variance);

// Returns the interval of a sum over blocks of many sizes.  Large blocks are sampled for sure, so
// their part is known exactly, and only the others widen the interval.
//
// Blocks may exist of which no sample was taken.  A sample of the row's own sizes, or of smaller
// ones, has at most the weight `most_bytes`, which is never more than 8 / rate.  So the upper limit
// is the score interval's with that weight in place of the samples' mean: 3.84 times it for a row
// without a sample.  For numbers of blocks, smaller sizes would have larger weights; `most_blocks`
// covers only the row's own sizes.
//
// An amount with losses has no interval: the result is the value alone.
Interval BytesInterval(const Estimate& estimate);
Interval BlocksInterval(const Estimate& estimate);

// False if the amount may well be 0, or a few blocks seen by chance.  This is so if it is known
// less precisely than by ten samples, or if it is 0 and one sample would make it more.
bool IsSure(const Estimate& estimate);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_INTERVAL_H_
