// The state that a mutator of a managed heap keeps instead of malloc's countdown; see
// heap_client.h.
#ifndef ALLOMON_TRACKER_MANAGED_SAMPLING_H_
#define ALLOMON_TRACKER_MANAGED_SAMPLING_H_

#include "tracker/core/managed_sampler.h"
#include "tracker/heap_client.h"

#endif  // ALLOMON_TRACKER_MANAGED_SAMPLING_H_
