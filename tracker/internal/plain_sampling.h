// Sampling for a heap's own purposes: a session that keeps nothing and tells nobody.
#ifndef ALLOMON_TRACKER_INTERNAL_PLAIN_SAMPLING_H_
#define ALLOMON_TRACKER_INTERNAL_PLAIN_SAMPLING_H_

#include <cstdint>
#include <optional>

namespace allomon::internal {

// From now on the heap is asked about sampled blocks at `rate` per word, beside whoever
// else samples.  Without a seed: unpredictable.  0 when the rate is not in [0, 1] or there
// are too many sessions.  Not inside malloc.
uint32_t StartPlainSampling(double rate, std::optional<uint64_t> seed);
void StopPlainSampling(uint32_t id);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_PLAIN_SAMPLING_H_
