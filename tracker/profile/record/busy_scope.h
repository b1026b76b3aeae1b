#ifndef ALLOMON_TRACKER_PROFILE_RECORD_BUSY_SCOPE_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_BUSY_SCOPE_H_

#include "tracker/core/thread_state.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {

// Keeps signal handlers of this thread out of its shadow stack.  With the tracker's own mark, also
// keeps mallocs in such handlers out of the sampler.  Nests.
class BusyScope {
 public:
  BusyScope() : was_busy_(thread_profile.busy), was_tracker_busy_(CurrentThread().busy) {
    thread_profile.busy = true;
    CurrentThread().busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~BusyScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    CurrentThread().busy = was_tracker_busy_;
    thread_profile.busy = was_busy_;
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  const bool was_busy_;
  const bool was_tracker_busy_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_BUSY_SCOPE_H_
