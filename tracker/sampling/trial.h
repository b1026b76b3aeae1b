// The outcome of one sampled block for every session, kept between JudgeAllocationSlow() and the
// report.
#ifndef ALLOMON_TRACKER_SAMPLING_TRIAL_H_
#define ALLOMON_TRACKER_SAMPLING_TRIAL_H_

#include <cstdint>

#include "tracker/sampling/active_set.h"

namespace allomon::internal {

struct Trial {
  uint64_t hits[kMaxSamplingSessions];  // by index in ActiveSet::items
};

// Draws which sessions have the first hit.  It belongs to the combined stream, so at least one
// session has it: as if each had made its own trial, given that not all missed.
void DrawFirstHit(const ActiveSet& active, RandomBits& bits, Trial* trial);

// Draws the hits among the words after the first hit, which are fresh trials: each session has its
// own binomial number of hits.
void AddLaterHits(const ActiveSet& active, RandomBits& bits, uint64_t words, Trial* trial);

// Draws the first hit and the later ones.  A single tally does not need the number of hits.
inline void DrawHits(const ActiveSet& active, RandomBits& bits, uint64_t words_behind,
                     Trial* trial) {
  if (__builtin_expect(active.count == 1, 1)) {
    trial->hits[0] = 1;
    if (active.has_callbacks) {
      trial->hits[0] += DrawBinomial(bits, words_behind, active.items[0].law);
    }
    return;
  }
  DrawFirstHit(active, bits, trial);
  AddLaterHits(active, bits, words_behind, trial);
}

// The combined rate of the set's items, and its gap scale.
void SetCombinedRate(ActiveSet* active);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SAMPLING_TRIAL_H_
