// Exact draws from the two laws that sampling needs.
//
// A gap is the number of words from one hit to the next, the hit included, when every word is an
// independent Bernoulli(rate) trial: P(gap = k) = rate (1 - rate)^(k-1).  It is drawn by inversion
// from 64 random bits in double precision, so that short gaps are as frequent as they should be (a
// float and an approximate logarithm, as in OCaml's memprof.c, cannot produce a gap below 7 at rate
// 1e-6).
//
// Nothing here allocates, locks or throws; a generator belongs to one thread.
#ifndef ALLOMON_TRACKER_SAMPLING_RANDOM_H_
#define ALLOMON_TRACKER_SAMPLING_RANDOM_H_

#include <cstdint>

#include "tracker/sampling/elementary.h"

namespace allomon::internal {

// xoshiro256++ 1.0 by Blackman and Vigna ("Scrambled linear pseudorandom number generators", 2021),
// seeded through SplitMix64 as they recommend.
class RandomBits {
 public:
  RandomBits() = default;
  // Streams of one seed are independent in practice: both words go through SplitMix64.
  void Seed(uint64_t seed, uint64_t stream);

  uint64_t Next() {
    const uint64_t result = RotateLeft(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = RotateLeft(state_[3], 45);
    return result;
  }

  // Uniform in (0, 1]; never 0, so that its logarithm is finite.
  double NextUnit() {
    // Half a unit is added before scaling so that zero bits do not give zero; near 1 the sum rounds
    // to 1, which stands for the last 2^-54 of the interval.
    return (static_cast<double>(Next()) + 0.5) * 0x1p-64;
  }

 private:
  static uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  uint64_t state_[4] = {};
};

// Longest gap ever returned.  2^62 words can be neither allocated nor counted down.
inline constexpr int64_t kNeverWords = int64_t{1} << 62;

// One over log(1 - rate), the factor that turns the logarithm of a unit draw into a gap.  0 for
// rate 1 (every gap is 1); must not be called for rate 0.
double GapScale(double rate);

// Returns the gap of a uniform draw.
inline int64_t GapOf(double unit, double gap_scale) {
  const double skipped = Log(unit) * gap_scale;
  // Written so that an infinite product (rate 1e-300) is clipped too.  Not negative, so that the
  // conversion rounds down.
  return skipped < static_cast<double>(kNeverWords - 1) ? static_cast<int64_t>(skipped) + 1
                                                        : kNeverWords;
}

// Draws a gap in [1, kNeverWords].  Cost: one logarithm, about 10 ns.
inline int64_t DrawGap(RandomBits& bits, double gap_scale) {
  if (gap_scale == 0) return 1;  // rate 1 needs no luck
  return GapOf(bits.NextUnit(), gap_scale);
}

// A rate in [0, 1] and its gap scale, so that the logarithm is taken once.
struct Rate {
  Rate() = default;
  explicit Rate(double r) : rate(r), gap_scale(r > 0 ? GapScale(r) : 0) {}
  double rate = 0;
  double gap_scale = 0;
};

// Draws the number of hits among `trials` independent words.  Exact for every rate in [0, 1].
// Cost: at most about 20 gaps, whatever `trials` is.
uint64_t DrawBinomialSlow(RandomBits& bits, uint64_t trials, const Rate& rate);
inline uint64_t DrawBinomial(RandomBits& bits, uint64_t trials, const Rate& rate) {
  if (rate.rate <= 0 || trials == 0) return 0;
  if (rate.rate >= 1) return trials;
  return DrawBinomialSlow(bits, trials, rate);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SAMPLING_RANDOM_H_
