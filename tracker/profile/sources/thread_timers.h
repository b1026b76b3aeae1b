// A timer on the CPU clock of each thread.  The timer sends that thread a signal.
//
// The signal is a real-time signal that has no handler.  A host's SIGPROF is left alone.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

struct DataUnit;

// The timer of a thread.  Timers are in a table that stays mapped, since a signal may arrive with a
// pointer to a timer whose thread has ended.
struct ThreadTimer {
  // kFree; kClaimed while the other fields are being filled in; or the id of the timed thread.
  std::atomic<pid_t> thread_id;
  std::atomic<uint64_t> charged_ns;  // of the thread's clock
  std::atomic<DataUnit*> unit;       // the unit that its last tick was charged to
  std::atomic<uint32_t> last;        // the function, or call stack, that it was charged to
  std::atomic<uintptr_t> last_pc;    // for a sink: the pc of the last tick
  clockid_t clock;
  timer_t timer;
  bool ticks;  // false: the kernel has refused a timer, so the thread's time has no place
};

// Called on the timed thread, in a signal handler; `where` is the place of the interruption.
using TickHandler = void (*)(ThreadTimer& timer, const FrameState& where);

// The first call sets the handler, which stays.  False if no signal is free.
bool ClaimTimerSignal(TickHandler handler);

// Writes the line that ticks have ended, on the way back from a tick, or that a thread gets none:
// it is async-signal-safe and no cancellation point.  Null: the line goes to file descriptor 2,
// whatever that is by then.
extern std::atomic<void (*)(const char* text, size_t bytes)> tick_line_writer;

// The timers that were ever used.  The thread_id of a timer that times no thread is not positive.
struct TimerRange {
  ThreadTimer* first;
  ThreadTimer* last;
  ThreadTimer* begin() const { return first; }
  ThreadTimer* end() const { return last; }
};
TimerRange UsedTimers();
// Acquire: the caller sees all fields that were filled in.
inline bool IsTiming(const ThreadTimer& timer) {
  return timer.thread_id.load(std::memory_order_acquire) > 0;
}

// The functions up to ForgetTimers() are not for signal handlers, and are called one at a time.
ThreadTimer* FindTimer(pid_t thread_id);  // null if it is not timed
// Returns null if the thread cannot be timed: it has ended, or there are too many (see errno).
ThreadTimer* TimeThread(pid_t thread_id, uint32_t hz);
// The same; says once if a thread gets no ticks.
void TimeFurtherThread(pid_t thread_id, uint32_t hz);
// Times all threads of the process that are not timed already.
void TimeExistingThreads(uint32_t hz);
void EndTimer(ThreadTimer& timer);
// Called in a forked child, which inherits no timers.
void ForgetTimers();

// Callable anywhere.
pid_t ThisThread();
// False if the thread has ended, or a filter of system calls refuses.
bool ReadClock(clockid_t clock, uint64_t* now_ns);
// The same for the calling thread, but works if a filter refuses clock_gettime: then it uses
// getrusage(), which is accurate to 2 us.
bool ReadThisThreadsClock(uint64_t* now_ns);
// Returns the time used since the last charge, and counts it as charged.  Any thread.
uint64_t TakeOutstanding(ThreadTimer& timer, uint64_t now_ns);

// ---- The way back from a tick's handler, also where a filter of system calls refuses
// rt_sigreturn.
//
// A host may give itself up to such a filter at any moment, by whatever system call.  The C
// library's way back goes on behind the call, into what lies there.  Ours restores the registers
// by itself then; the timers' signal stays blocked on the thread, which so gets no more ticks.

// As sigaction() for a handler with SA_SIGINFO.  False: refused, see errno.  On machines other than
// x86-64, and for the thread sanitizer, it is sigaction().
bool SetTickAction(int signal, const struct sigaction& action);

// Called on the thread whose way back was refused.  Keeps nothing of errno.
void OnTickReturnRefused();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_THREAD_TIMERS_H_
