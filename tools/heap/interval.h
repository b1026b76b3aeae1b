// How sure an amount of a heap profile is.
//
// A block of w words is sampled with probability p = 1 - (1 - rate)^(w + 1), and stands for 1/p
// blocks.  Of B estimated blocks of one size, so many times p were sampled, and the sum has the
// variance B (1 - p) / p (Horvitz and Thompson 1952; tracker/estimate.h).  Blocks of one sample
// differ in size by an eighth at most, which changes the variance by less than a hundredth.
//
// Functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_INTERVAL_H_
#define ALLOMON_TOOLS_HEAP_INTERVAL_H_

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// A lower rate samples nothing that fits a machine: it is taken for one that is not known.
inline constexpr double kLeastRate = 1e-12;

// The probability that a block of that size is sampled.  `rate` is above 0.
double ReportProbability(double size_bytes, bool has_header, double rate);

// The sampling of one metric of a profile.
struct Sampling {
  double rate = 0;          // as HeapProfile::rate
  bool has_halves = false;  // the two halves of the sampler have chosen the moment for each other
  bool is_whole = true;     // nothing of it found no room

  bool IsKnown() const { return rate >= kLeastRate; }
  bool IsExact() const { return rate >= 1 && is_whole; }
};
Sampling SamplingOf(const HeapProfile& profile, Metric metric);

// The probability whose variance the estimate of a block of that size has.  Without halves it is
// the one above.  With halves, each samples a block with the probability q = 1 - sqrt(1 - p), and
// the mean of their estimates has the variance (1 - q) / (2 q) for one moment.  They may choose
// moments that look alike, which makes it larger by up to a third; kHalvesVariance is in the middle
// (tracker/recording/README.md, 4).
inline constexpr double kHalvesVariance = 1.2;
double EffectiveProbability(double size_bytes, bool has_header, const Sampling& sampling);

// Of an amount: its estimate, and the second and third cumulants of it.  Sampled is how many blocks
// were sampled.
struct Estimate {
  Amount amount;
  double blocks_variance = 0;
  double bytes_variance = 0;
  double sampled = 0;
  double blocks_third = 0;
  double bytes_third = 0;
  // The most that one sample of the row would stand for, also one that the row does not have.
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

// The amount, with 0 for what is no number, and 1e30 for more.
Amount Bounded(const Amount& amount);

// A rate of 0 gives no variance, and `sampled` 0.  Of the bounded amount.
Estimate EstimateOf(const Amount& amount, const Sample& sample, const Sampling& sampling);

// The interval that holds the truth in 95 of 100 runs.
struct Interval {
  double low = 0;
  double high = 0;
};

// Of an estimated value of 0 or more.  It is Wilson's score interval, which covers 95 % for few
// samples, too, where the normal one covers less.  Without a variance it is the value alone.
Interval IntervalOf(double value, double variance);

// As above, for a sum of blocks of many sizes.  A part of it that was sampled for sure, as large
// blocks are, is known: the interval moves by what is known of the others only.
//
// Blocks may have been there of which none was sampled.  The row's own sizes, or smaller ones,
// stand for at most `most_bytes` a sample, which is never more than 8 / rate.  So the upper limit
// is the score's with that in place of the samples' own mean: 3.84 times it for a row without a
// sample.  Of blocks, smaller ones would stand for more; `most_blocks` is of the row's own sizes.
//
// An amount that is not whole has no interval: it is the value alone.
Interval BytesInterval(const Estimate& estimate);
Interval BlocksInterval(const Estimate& estimate);

// False where the amount may well be 0, or a few blocks seen by chance: it is known less well than
// by ten samples, or is 0 and would be more by one.
bool IsSure(const Estimate& estimate);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_INTERVAL_H_
