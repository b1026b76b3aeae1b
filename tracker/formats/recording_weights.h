// Weights of sampled blocks (RECORDING.md, 2).
//
// Pure functions; nothing here fails.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_WEIGHTS_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_WEIGHTS_H_

#include <cmath>
#include <cstdint>

#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

// Number of words that stand trial for a block of that size; custom memory has no header word.
inline double TrialWordsOf(uint64_t size_bytes, uint8_t source) {
  constexpr uint8_t kCustom = 2;
  const uint64_t words = size_bytes / 8 + (size_bytes % 8 != 0 ? 1 : 0);
  if (source == kCustom) return static_cast<double>(words == 0 ? 1 : words);
  return static_cast<double>(words) + 1;
}

// The probability that at least one of the trials hits.
inline double ProbabilityOf(double trial_words, double rate) {
  return rate >= 1 ? 1 : -std::expm1(trial_words * std::log1p(-rate));
}

// The probability with which the blocks of a row were sampled.
inline double RowProbability(uint16_t size_class, uint8_t source, bool is_greatest, double rate) {
  const auto c = static_cast<uint16_t>(size_class - 1);
  const uint64_t size_bytes = is_greatest ? GreatestSizeOf(c) : LeastSizeOf(c);
  return ProbabilityOf(TrialWordsOf(size_bytes, source), rate);
}

// The probability with which one half of the sampler samples blocks that both together sample with
// p: 1 - sqrt(1 - p).
inline double HalfProbability(double p) { return p / (1 + std::sqrt(1 - p)); }

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_WEIGHTS_H_
