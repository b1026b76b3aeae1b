#include "tools/heap/interval.h"

#include <algorithm>
#include <cmath>

namespace allomon::heap {
namespace {

constexpr double kWordBytes = 8;
constexpr double kSigmas = 1.959963985;  // 95 % of the normal distribution
constexpr double kEnoughSamples = 10;
// How much larger than the truth a mean size may be, since amounts are rounded to whole bytes (and
// in files to whole blocks).  A word too many would make the variance of 48 bytes 13 % too small.
constexpr double kRounding = 1.0 / 512;
constexpr double kMost = 1e30;  // more than any machine allocates; its powers are numbers

// Files of others may hold any number.
double Bounded(double value) { return std::isfinite(value) ? std::clamp(value, -kMost, kMost) : 0; }

// Of the blocks of an amount; where only bytes are known, of the sample's class.
double MeanSize(const Amount& amount, const Sample& sample) {
  if (amount.blocks > 0) return amount.bytes / amount.blocks;
  return static_cast<double>(sample.size_bytes);
}

// The truths T that the value is within kSigmas standard deviations of.  The deviation is that of
// the truth, not of the value: its square is variance + (T - value) slope.
Interval ScoreInterval(double value, double variance, double slope) {
  if (value <= 0 || variance <= 0) return {value, value};
  const double quarter = kSigmas * slope / 2;
  const double middle = value + kSigmas * quarter;
  const double half = kSigmas * std::sqrt(variance + quarter * quarter);
  return {std::max(middle - half, 0.0), middle + half};
}

}  // namespace

double ReportProbability(double size_bytes, bool has_header, double rate) {
  if (rate >= 1) return 1;
  const double words = std::ceil(size_bytes / kWordBytes) + (has_header ? 1 : 0);
  return -std::expm1(std::max(words, 1.0) * std::log1p(-rate));
}

Amount Bounded(const Amount& amount) { return {Bounded(amount.blocks), Bounded(amount.bytes)}; }

Estimate EstimateOf(const Amount& unbounded, const Sample& sample, double rate) {
  const Amount amount = Bounded(unbounded);
  Estimate estimate;
  estimate.amount = amount;
  if (!(rate >= kLeastRate) || amount.blocks <= 0 || amount.bytes < 0) return estimate;
  const double size_bytes = MeanSize(amount, sample);
  const double p = ReportProbability(size_bytes * (1 - kRounding), sample.has_header, rate);
  const double slope = (1 - p) / p;  // how the variance grows with the blocks
  estimate.sampled = amount.blocks * p;
  estimate.blocks_variance = amount.blocks * slope;
  estimate.bytes_variance = size_bytes * size_bytes * estimate.blocks_variance;
  estimate.blocks_third = estimate.blocks_variance * slope;
  estimate.bytes_third = estimate.bytes_variance * size_bytes * slope;
  return estimate;
}

Interval IntervalOf(double value, double variance) {
  return value <= 0 ? Interval{value, value} : ScoreInterval(value, variance, variance / value);
}

Interval BytesInterval(const Estimate& estimate) {
  const double variance = estimate.bytes_variance;
  return ScoreInterval(estimate.amount.bytes, variance,
                       variance > 0 ? estimate.bytes_third / variance : 0);
}

Interval BlocksInterval(const Estimate& estimate) {
  const double variance = estimate.blocks_variance;
  return ScoreInterval(estimate.amount.blocks, variance,
                       variance > 0 ? estimate.blocks_third / variance : 0);
}

bool IsSure(const Estimate& estimate) {
  const Amount& amount = estimate.amount;
  if (estimate.bytes_variance > 0) {
    return amount.bytes * amount.bytes >= kEnoughSamples * estimate.bytes_variance;
  }
  return amount.blocks * amount.blocks >= kEnoughSamples * estimate.blocks_variance;
}

}  // namespace allomon::heap
