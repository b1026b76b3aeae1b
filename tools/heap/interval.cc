#include "tools/heap/interval.h"

#include <algorithm>
#include <cmath>

#include "tools/heap/missing.h"
#include "tracker/base/check.h"

namespace allomon::heap {
namespace {

constexpr double kWordBytes = 8;
constexpr double kSigmas = 1.959963985;  // 95 % of the normal distribution
constexpr double kEnoughSamples = 10;
// The relative error of a mean size, since amounts are rounded to whole bytes (and in files to
// whole blocks).  One word too many would make the variance of 48 bytes 13 % too small.
constexpr double kRounding = 1.0 / 512;
constexpr double kMost = 1e30;  // larger than any machine's memory; its powers are finite

// Bounds a value, because files of other tools may contain any number.
double Bounded(double value) { return std::isfinite(value) ? std::clamp(value, -kMost, kMost) : 0; }

// Returns the mean size of an amount's blocks.  If only bytes are known, returns the size of the
// sample's class.
double MeanSize(const Amount& amount, const Sample& sample) {
  if (amount.blocks > 0) return std::clamp(amount.bytes / amount.blocks, -kMost, kMost);
  return static_cast<double>(sample.size_bytes);
}

// Whether the interval holds a value of 0 or more.  A lower value is below its lower limit, which
// is never below 0.
[[maybe_unused]] bool Holds(const Interval& interval, double value) {
  const double slack = 1e-9 * std::fabs(value);
  return interval.low <= std::max(value, 0.0) + slack && value <= interval.high + slack;
}

// Returns the true values T that lie within kSigmas standard deviations of the value.  The
// deviation is the one for T, not for the value: its square is variance + (T - value) slope.
Interval ScoreInterval(double value, double variance, double slope) {
  const double quarter = kSigmas * slope / 2;
  const double some = std::max(variance, 0.0);
  const double up = kSigmas * (quarter + std::sqrt(some + quarter * quarter));
  // The product of both roots is known.  Their difference would be all rounding where a hostile
  // file has a slope beyond 1e16 times the value.
  const double down = up > 0 ? kSigmas * kSigmas * some / up : 0;
  ALLOMON_DCHECK("inv.heap.variance", up >= 0 && down >= 0);
  const Interval interval = {std::max(value - down, 0.0), value + up};
  ALLOMON_DCHECK("inv.heap.interval", Holds(interval, value));
  return interval;
}

// Returns the interval of a sum.  `most` is the largest weight of a sample, even of one that the
// sum does not contain.
Interval SumInterval(double value, double variance, double third, double most) {
  // Below 0 is only a sum of a file that says negative amounts.
  if (!std::isfinite(value) || !std::isfinite(variance) || value < 0) return {value, value};
  const double slope = variance > 0 && std::isfinite(third) ? third / variance : 0;
  const double high = ScoreInterval(value, variance, std::max(slope, most)).high;
  const double low = variance > 0 ? ScoreInterval(value, variance, slope).low : value;
  ALLOMON_DCHECK("inv.heap.interval", Holds({low, high}, value));
  return {low, high};
}

// Returns the largest weight, in bytes, of a sample of this size or a smaller one.
double MostBytes(double size_bytes, double p, double rate) {
  ALLOMON_DCHECK("inv.heap.probability", 0 < p && p <= 1);
  const double interval_bytes = kWordBytes / rate;
  return size_bytes > 0 ? std::min(size_bytes / p, interval_bytes) : interval_bytes;
}

}  // namespace

double ReportProbability(double size_bytes, bool has_header, double rate) {
  if (rate >= 1) return 1;
  const double words = std::ceil(size_bytes / kWordBytes) + (has_header ? 1 : 0);
  const double p = -std::expm1(std::max(words, 1.0) * std::log1p(-rate));
  ALLOMON_DCHECK("inv.heap.probability", 0 < p && p <= 1);
  return p;
}

double EffectiveProbability(double size_bytes, bool has_header, const Sampling& sampling) {
  const double p = ReportProbability(size_bytes, has_header, sampling.rate);
  if (!sampling.has_halves) return p;
  const double q = p / (1 + std::sqrt(1 - p));
  ALLOMON_DCHECK("inv.heap.probability", 0 < q && q <= p);
  return 1 / (1 + kHalvesVariance * (1 - q) / (2 * q));
}

Sampling SamplingOf(const HeapProfile& profile, Metric metric) {
  return {profile.rate, profile.has_halves && metric == Metric::kPeak,
          IsWhole(profile.missing, metric)};
}

Amount Bounded(const Amount& amount) { return {Bounded(amount.blocks), Bounded(amount.bytes)}; }

Estimate EstimateOf(const Amount& unbounded, const Sample& sample, const Sampling& sampling) {
  const Amount amount = Bounded(unbounded);
  Estimate estimate;
  estimate.amount = amount;
  estimate.is_whole = sampling.is_whole;
  if (!sampling.IsKnown()) return estimate;
  const double size_bytes = MeanSize(amount, sample);
  const double p = EffectiveProbability(size_bytes * (1 - kRounding), sample.has_header, sampling);
  if (sampling.rate < 1) {
    estimate.most_blocks = size_bytes > 0 ? 1 / p : 0;
    estimate.most_bytes = MostBytes(size_bytes, p, sampling.rate);
  }
  if (amount.blocks <= 0 || amount.bytes < 0) return estimate;
  ALLOMON_DCHECK("inv.heap.probability", 0 < p && p <= 1);
  const double slope = (1 - p) / p;  // growth of the variance per block
  estimate.sampled = amount.blocks * p;
  estimate.blocks_variance = amount.blocks * slope;
  estimate.bytes_variance = size_bytes * size_bytes * estimate.blocks_variance;
  estimate.blocks_third = estimate.blocks_variance * slope;
  estimate.bytes_third = estimate.bytes_variance * size_bytes * slope;
  ALLOMON_DCHECK("inv.heap.sampled", estimate.sampled <= amount.blocks);
  ALLOMON_DCHECK("inv.heap.variance",
                 estimate.blocks_variance >= 0 && estimate.bytes_variance >= 0);
  return estimate;
}

Estimate EstimateOfAll(const HeapProfile& profile, Metric metric) {
  const Sampling sampling = SamplingOf(profile, metric);
  Estimate total;
  for (const Sample& sample : profile.samples) {
    total.Add(EstimateOf(sample[metric], sample, sampling));
  }
  // Blocks without a sample may have any size, also where small blocks were sampled and have died.
  if (total.amount.bytes == 0) total.Add(EstimateOf({}, {}, sampling));
  return total;
}

Interval IntervalOf(double value, double variance) {
  value = Bounded(value);
  if (value <= 0 || !(variance > 0 && std::isfinite(variance))) return {value, value};
  return ScoreInterval(value, variance, variance / value);
}

Interval BytesInterval(const Estimate& estimate) {
  const double bytes = estimate.amount.bytes;
  if (!estimate.is_whole) return {bytes, bytes};
  return SumInterval(bytes, estimate.bytes_variance, estimate.bytes_third, estimate.most_bytes);
}

Interval BlocksInterval(const Estimate& estimate) {
  const double blocks = estimate.amount.blocks;
  if (!estimate.is_whole) return {blocks, blocks};
  return SumInterval(blocks, estimate.blocks_variance, estimate.blocks_third, estimate.most_blocks);
}

bool IsSure(const Estimate& estimate) {
  const Amount& amount = estimate.amount;
  if (amount.bytes <= 0 && amount.blocks <= 0) return estimate.most_bytes <= 0;
  if (estimate.bytes_variance > 0) {
    return amount.bytes * amount.bytes >= kEnoughSamples * estimate.bytes_variance;
  }
  return amount.blocks * amount.blocks >= kEnoughSamples * estimate.blocks_variance;
}

}  // namespace allomon::heap
