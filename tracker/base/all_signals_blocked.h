#ifndef ALLOMON_TRACKER_BASE_ALL_SIGNALS_BLOCKED_H_
#define ALLOMON_TRACKER_BASE_ALL_SIGNALS_BLOCKED_H_

#include <signal.h>

namespace allomon::internal {

// While one exists, no handler runs on its thread.  A thread that is created meanwhile has all
// signals blocked permanently.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &outer_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &outer_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t outer_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_ALL_SIGNALS_BLOCKED_H_
