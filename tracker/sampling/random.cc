#include "tracker/sampling/random.h"

#include <cmath>

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

uint64_t SplitMix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Whether the gap of this `unit` is certainly longer than `trials`.  It is if unit <= (1 -
// rate)^trials, and (1 - rate)^trials >= 1 - trials * rate.  The margin allows for rounding, here
// and in the logarithm that would decide otherwise.
bool IsBeyond(double unit, uint64_t trials, double rate) {
  const double mean = static_cast<double>(trials) * rate;
  return unit <= 1 - mean * (1 + 1e-12) - 1e-15;
}

// Counts few expected hits by jumps from hit to hit.  Mostly the first gap is already too long,
// which needs no logarithm.
uint64_t CountByGaps(RandomBits& bits, uint64_t trials, const Rate& law) {
  uint64_t hits = 0;
  uint64_t left = trials;
  while (true) {
    const double unit = bits.NextUnit();
    if (IsBeyond(unit, left, law.rate)) return hits;
    const uint64_t gap = static_cast<uint64_t>(GapOf(unit, law.gap_scale));
    ALLOMON_DCHECK_LT("inv.law.gap", uint64_t{0}, gap);
    if (gap > left) return hits;
    ALLOMON_DCHECK_LE("inv.law.hits", hits, trials - left);
    left -= gap;
    ++hits;
  }
}

// log of k! without lgamma's global signgam: Stirling's series, which is exact to double precision
// from 16 on, and a sum of logarithms below.
double LogFactorial(double k) {
  if (k < 16) {
    double product = 1;
    for (double i = 2; i <= k; ++i) product *= i;
    return Log(product);
  }
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  const double x = k + 1;
  const double r = 1 / x;
  const double r2 = r * r;
  const double series = r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 / 1680)));
  return (x - 0.5) * Log(x) - x + kHalfLogTwoPi + series;
}

// Draws many expected hits (trials * rate >= 10, rate <= 1/2) by transformed rejection, algorithm
// BTRS of Hormann, "The generation of binomial random variates", Journal of Statistical Computation
// and Simulation 46 (1993).  The acceptance test compares with the true density, so the law is
// exact.
uint64_t CountByRejection(RandomBits& bits, uint64_t trials, double rate) {
  const double n = static_cast<double>(trials);
  ALLOMON_DCHECK("inv.law.rate", rate <= 0.5 && n * rate >= 10);
  const double spread = std::sqrt(n * rate * (1 - rate));
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * rate;
  const double center = n * rate + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread;
  const double log_odds = Log(rate / (1 - rate));
  const double mode = std::floor((n + 1) * rate);
  ALLOMON_DCHECK("inv.law.hits", 0 <= mode && mode <= n);
  const double log_mode = LogFactorial(mode) + LogFactorial(n - mode);
  while (true) {
    const double u = bits.NextUnit() - 0.5;
    double v = bits.NextUnit();
    const double us = 0.5 - std::fabs(u);
    if (us <= 0) continue;
    const double k = std::floor((2 * a / us + b) * u + center);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= v_r) return static_cast<uint64_t>(k);
    v = Log(v * alpha / (a / (us * us) + b));
    const double log_density =
        log_mode - LogFactorial(k) - LogFactorial(n - k) + (k - mode) * log_odds;
    if (v <= log_density) return static_cast<uint64_t>(k);
  }
}

}  // namespace

void RandomBits::Seed(uint64_t seed, uint64_t stream) {
  uint64_t mixed_stream = stream;
  uint64_t state = seed ^ SplitMix64(mixed_stream);
  for (uint64_t& word : state_) word = SplitMix64(state);
}

double GapScale(double rate) { return rate >= 1 ? 0 : 1 / Log1p(-rate); }

uint64_t DrawBinomialSlow(RandomBits& bits, uint64_t trials, const Rate& law) {
  const double rate = law.rate;
  ALLOMON_DCHECK("inv.law.rate", 0 < rate && rate < 1);
  if (rate > 0.5) return trials - DrawBinomial(bits, trials, Rate(1 - rate));
  if (static_cast<double>(trials) * rate < 10) return CountByGaps(bits, trials, law);
  return CountByRejection(bits, trials, rate);
}

}  // namespace allomon::internal
