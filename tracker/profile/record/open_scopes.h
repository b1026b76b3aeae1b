// The ALLOMON_FUNCTION() scopes that a thread has open, noted also while nothing is recorded.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_OPEN_SCOPES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_OPEN_SCOPES_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/tls.h"

namespace allomon {

struct SourceFunction;

namespace internal {

// One open scope.
struct ScopeEntry {
  uintptr_t frame;  // of the function that holds it
  const SourceFunction* function;
};

// Open scopes are [first, top), outermost first.  A scope whose `top` is not below `limit` takes
// the slow path: nothing is mapped yet, the array is full, or, the limit being null, something is
// recorded.
//
// Plain data in static TLS, all zero at first.  Its own thread writes all of it but `limit`, which
// the thread that starts or stops a profile stores.
struct OpenScopes {
  ScopeEntry* top;
  std::atomic<ScopeEntry*> limit;
  ScopeEntry* first;
  ScopeEntry* end;
};
extern __thread OpenScopes open_scopes __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

}  // namespace internal

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_OPEN_SCOPES_H_
