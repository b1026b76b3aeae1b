#include "tools/heap/interval.h"

#include <cmath>

namespace allomon::heap {
namespace {

constexpr double kWordBytes = 8;
constexpr double kSigmas = 1.959963985;  // 95 % of the normal distribution
constexpr double kEnoughSamples = 10;

// The probability that a block is sampled.
double ReportProbability(double size_bytes, bool has_header, double rate) {
  const double words = std::ceil(size_bytes / kWordBytes) + (has_header ? 1 : 0);
  return -std::expm1(words * std::log1p(-rate));
}

// Of the blocks of an amount; where only bytes are known, of the sample's class.
double MeanSize(const Amount& amount, const Sample& sample) {
  if (amount.blocks > 0) return amount.bytes / amount.blocks;
  return static_cast<double>(sample.size_bytes);
}

}  // namespace

Estimate EstimateOf(const Amount& amount, const Sample& sample, double rate) {
  Estimate estimate;
  estimate.amount = amount;
  if (rate <= 0 || amount.blocks <= 0) return estimate;
  const double size_bytes = MeanSize(amount, sample);
  const double p = rate >= 1 ? 1 : ReportProbability(size_bytes, sample.has_header, rate);
  estimate.sampled = amount.blocks * p;
  estimate.blocks_variance = amount.blocks * (1 - p) / p;
  estimate.bytes_variance = size_bytes * size_bytes * estimate.blocks_variance;
  return estimate;
}

// The truths T that the value is within kSigmas standard deviations of.  The deviation is that of
// the truth, not of the value: its square is T variance / value.
Interval IntervalOf(double value, double variance) {
  if (value <= 0 || variance <= 0) return {value, value};
  const double z = kSigmas;
  const double middle = value + z * z * variance / value / 2;
  const double quarter = z * variance / value / 2;
  const double half = z * std::sqrt(variance + quarter * quarter);
  return {middle - half, middle + half};
}

bool IsSure(const Estimate& estimate) {
  return estimate.blocks_variance <= 0 || estimate.sampled >= kEnoughSamples;
}

}  // namespace allomon::heap
