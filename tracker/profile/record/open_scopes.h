// The ALLOMON_FUNCTION() scopes that a thread has open.  They are noted also while nothing is
// recorded.
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

// Open scopes are [first, top), outermost first.  A scope takes the slow path if `top` is not below
// `limit`.  That is so if nothing is mapped yet, if the array is full, and while something is
// recorded, when the limit is null.
//
// Plain data in static TLS, all zero at first.  Its own thread writes all fields but `limit`, which
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
