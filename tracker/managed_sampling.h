// The state that a mutator of a managed heap keeps in place of malloc's countdown: for
// heap_client.h.
#ifndef ALLOMON_TRACKER_MANAGED_SAMPLING_H_
#define ALLOMON_TRACKER_MANAGED_SAMPLING_H_

#include "tracker/core/managed_sampler.h"
#include "tracker/heap_client.h"

#endif  // ALLOMON_TRACKER_MANAGED_SAMPLING_H_
