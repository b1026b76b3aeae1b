// The lock of all recordings of the process.  It covers rare events: a new row, frame, text, thread
// or scope, the end of a thread or a scope, a start and a stop.  A sample whose row, thread and
// scope are known does not take it.
//
// The lock is held for a bounded number of instructions, and its holder is marked busy.  So a
// signal handler's allocations stay out of the tracker meanwhile, and no handler waits for its own
// thread.  The holder calls no malloc and runs no code of the host.  System calls under the lock,
// in malloc: the mmap by which own memory grows; the two calls of a check of a named file, every 10
// ms; and those of a child of fork that begins its own file.  The lock is held around fork.
//
// inv.recording.bound: inside malloc the lock is held for at most kMostHeldSteps loop steps of less
// than 30 instructions each.  Debug builds count them.
#ifndef ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_
#define ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_

#include "tracker/base/check.h"
#include "tracker/base/spin_lock.h"
#include "tracker/core/busy_mark.h"

namespace allomon::recording {

// A text is copied word by word, and a chain of an index has a record or two.
inline constexpr uint32_t kMostHeldSteps = 4096;

extern internal::SpinLock recorder_lock;
// Steps since the lock was taken; only in debug builds.
extern uint32_t recorder_held_steps;

// Under the lock.
inline void CountHeldStep(uint32_t steps = 1) {
  if constexpr (internal::kDebugChecks) recorder_held_steps += steps;
}

class ALLOMON_SCOPED_LOCKABLE RecorderHold {
 public:
  RecorderHold() ALLOMON_ACQUIRE(recorder_lock) {
    recorder_lock.lock();
    if constexpr (internal::kDebugChecks) recorder_held_steps = 0;
  }
  ~RecorderHold() ALLOMON_RELEASE() {
    ALLOMON_DCHECK_LE("inv.recording.bound", recorder_held_steps, kMostHeldSteps);
    recorder_lock.unlock();
  }
  RecorderHold(const RecorderHold&) = delete;
  RecorderHold& operator=(const RecorderHold&) = delete;

 private:
  const internal::BusyMark busy_;  // from before the lock is taken until after it is released
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RECORDER_LOCK_H_
