#ifndef ALLOMON_TESTS_FLAME_SUPPORT_SERVER_PROFILE_H_
#define ALLOMON_TESTS_FLAME_SUPPORT_SERVER_PROFILE_H_

#include <cstddef>
#include <cstdint>

#include "tools/heap/heap_profile.h"

namespace allomon::flame {

struct ServerOptions {
  uint64_t seed = 1;
  double rate = 1e-4;
  double cache_growth = 1;   // factor for the contents of the cache
  bool has_indexer = true;   // a part that another version lacks
  size_t random_stacks = 0;  // further distinct stacks, of up to 40 frames
};

// Returns a synthetic server's heap profile: requests that are parsed and answered, a cache, a
// leak, a short peak, temporaries, inlined calls, libraries, a timeline.  It is sampled like a
// recording; the same options make the same profile.
heap::HeapProfile ServerProfile(const ServerOptions& options);

}  // namespace allomon::flame

#endif  // ALLOMON_TESTS_FLAME_SUPPORT_SERVER_PROFILE_H_
