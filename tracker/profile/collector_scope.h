// For garbage collectors: what a thread uses while one of these is open is charged to <gc>,
// and in the third column to the functions that are on its stack, as MLton does.
//
// Costs two instructions; nests; any thread, also in signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_COLLECTOR_SCOPE_H_
#define ALLOMON_TRACKER_PROFILE_COLLECTOR_SCOPE_H_

#include "tracker/profile/thread_profile.h"

namespace allomon {

class CollectorScope {
 public:
  CollectorScope() { ++internal::thread_profile.collecting; }
  ~CollectorScope() { --internal::thread_profile.collecting; }
  CollectorScope(const CollectorScope&) = delete;
  CollectorScope& operator=(const CollectorScope&) = delete;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_COLLECTOR_SCOPE_H_
