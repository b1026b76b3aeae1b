// A timer for each thread on its CPU clock, which sends that thread a signal.
//
// The signal is a real-time one that no handler is set for; a host's SIGPROF is left alone.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_

#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

struct DataUnit;

// The timer of a thread.  Timers are in a table that stays, since a signal may arrive with a
// pointer to one whose thread has ended.
struct ThreadTimer {
  // kFree, kClaimed while the rest is being filled in, or the thread's.
  std::atomic<pid_t> thread_id;
  std::atomic<uint64_t> charged_ns;  // of the thread's clock
  std::atomic<DataUnit*> unit;       // where its last tick went
  std::atomic<uint32_t> last;        // and to which function, or call stack
  std::atomic<uintptr_t> last_pc;    // for a sink: where it was
  clockid_t clock;
  timer_t timer;
};

// On the thread that the timer is of, in a signal handler; `where` it was interrupted.
using TickHandler = void (*)(ThreadTimer& timer, const FrameState& where);

// The first call sets the handler for good.  False if no signal is free.
bool ClaimTimerSignal(TickHandler handler);

// The timers that were ever used; one that times no thread has no positive thread_id.
struct TimerRange {
  ThreadTimer* first;
  ThreadTimer* last;
  ThreadTimer* begin() const { return first; }
  ThreadTimer* end() const { return last; }
};
TimerRange UsedTimers();
// Acquire: with all that was filled in.
inline bool IsTiming(const ThreadTimer& timer) {
  return timer.thread_id.load(std::memory_order_acquire) > 0;
}

// The functions up to ForgetTimers() are not for signal handlers, and for one call at a time.
ThreadTimer* FindTimer(pid_t thread_id);  // null if it is not timed
// Null if it cannot be timed: it has ended, or the kernel refuses (see errno).
ThreadTimer* TimeThread(pid_t thread_id, uint32_t hz);
// Times all threads of the process that are not timed already.
void TimeExistingThreads(uint32_t hz);
void EndTimer(ThreadTimer& timer);
// In a forked child, which inherits no timers.
void ForgetTimers();

// Anywhere.
pid_t ThisThread();
// False if the thread has ended.
bool ReadClock(clockid_t clock, uint64_t* now_ns);
// Returns what was used since the last charge, and takes it as charged.  Any thread.
uint64_t TakeOutstanding(ThreadTimer& timer, uint64_t now_ns);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_
