#include "tracker/sampling/trial.h"

#include <cmath>

#include "tracker/base/check.h"

namespace allomon::internal {

void DrawFirstHit(const ActiveSet& active, RandomBits& bits, Trial* trial) {
  ALLOMON_DCHECK("inv.law.sessions", 0 < active.count && active.count <= kMaxSamplingSessions);
  // Probability that some session from i on has the hit, given that no session before has it.
  double some_from_i = active.rate;
  bool hit_before = false;
  for (uint32_t i = 0; i < active.count; ++i) {
    const double rate = active.items[i].law.rate;
    // Once one session has the hit, each other session decides by its own, unconditional trial.
    // The last remaining session has the hit for certain, even if rounding made the quotient less
    // than 1.
    ALLOMON_DCHECK("inv.law.rate", 0 <= rate && rate <= 1);
    const bool last_chance = !hit_before && i + 1 == active.count;
    const double p = hit_before ? rate : rate / some_from_i;
    const bool hit = last_chance || (p > 0 && bits.NextUnit() <= p);
    trial->hits[i] = hit ? 1 : 0;
    hit_before |= hit;
    ALLOMON_DCHECK_LE("inv.law.hits", trial->hits[i], uint64_t{1});
    some_from_i = rate < 1 ? (some_from_i - rate) / (1 - rate) : 0;
  }
}

void AddLaterHits(const ActiveSet& active, RandomBits& bits, uint64_t words, Trial* trial) {
  for (uint32_t i = 0; i < active.count; ++i) {
    trial->hits[i] += DrawBinomial(bits, words, active.items[i].law);
    ALLOMON_DCHECK_LE("inv.law.hits", trial->hits[i], words + 1);
  }
}

void SetCombinedRate(ActiveSet* active) {
  double none = 1;
  double some = 0;
  for (uint32_t i = 0; i < active->count; ++i) {
    // Summed as p + q - pq: computing 1 - none would lose rates below 1e-16.
    some += active->items[i].law.rate * none;
    none *= 1 - active->items[i].law.rate;
  }
  ALLOMON_DCHECK_LE("inv.law.sessions", active->count, kMaxSamplingSessions);
  ALLOMON_DCHECK("inv.law.rate", 0 <= some && some <= 1 + 1e-12);
  active->rate = some;
  active->gap_scale = some > 0 ? GapScale(some) : 0;
}

}  // namespace allomon::internal
