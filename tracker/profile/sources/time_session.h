// Processor time.  A timer on each thread's CPU clock sends that thread a signal.  The signal's
// handler charges the time that the thread used since the last signal to the function that it
// finds.
//
// Amounts are differences of the thread's clock, not numbers of signals.  A signal may come late
// (the kernel looks at these timers at its own tick, 250 or 1000 times a second), or may find the
// thread inside the profiler.  That delays a charge and loses none.  The time since the last charge
// is charged at the end of a thread or of the profile.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_

#include <cstdint>
#include <string>

namespace allomon::internal {

inline constexpr uint32_t kDefaultHz = 100;
inline constexpr uint32_t kMostHz = 10000;

// Receives the time if it is not for the profile, but for monitor(3C)'s histogram.  The arguments
// are the pc of the thread and the time that it used.  Called on any thread, in signal handlers
// too.
using TimeSink = void (*)(uintptr_t pc, uint64_t amount_ns);

// Times every existing thread, and from now on every new one.  On failure returns false and *error
// is one line.  Not in signal handlers; one call at a time.
bool StartTimers(uint32_t hz, TimeSink sink, std::string* error);
bool TimersRun();

// Charges the outstanding time, and ends all timers.
void StopTimers();

// Charges the time that every thread has used up to now.  Thread safe; not in signal handlers.
void ChargeOutstandingTime();

// Charges the time that the calling thread has used to its current unit, which it is about to
// leave.  Cost: a system call while timers run.
void ChargeTimeOfUnit();

// Called by a thread as it starts and as it ends; nothing unless timers run.
void StartThreadTimer();
void EndThreadTimer();

// Called in a forked child, which inherits no timers.
void RestartTimersAfterFork();

// Sets the number of frames by which a program without functions of its own is charged.
void SetTimeFrames(uint32_t frames);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_
