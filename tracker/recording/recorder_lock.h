// The lock of all recordings of the process.
//
// It is held for a bounded number of instructions, by a thread that is busy meanwhile: a signal
// handler's allocations stay out of the tracker then, so that no handler waits for its own thread.
// Under it nothing is allocated and no code of the host runs.  It is held around fork.
#ifndef ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_
#define ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_

#include "tracker/base/spin_lock.h"
#include "tracker/core/busy_mark.h"

namespace allomon::recording {

extern internal::SpinLock recorder_lock;

class ALLOMON_SCOPED_LOCKABLE RecorderHold {
 public:
  RecorderHold() ALLOMON_ACQUIRE(recorder_lock) { recorder_lock.lock(); }
  ~RecorderHold() ALLOMON_RELEASE() { recorder_lock.unlock(); }
  RecorderHold(const RecorderHold&) = delete;
  RecorderHold& operator=(const RecorderHold&) = delete;

 private:
  const internal::BusyMark busy_;  // from before the lock is taken until it is let go
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_
