// Processor time: a timer on each thread's CPU clock sends that thread a signal, whose handler
// charges what the thread used since the last one to the function it finds.
//
// Amounts are differences of the thread's clock, not numbers of signals: a signal that comes late
// (the kernel looks at these timers at its own tick, 250 or 1000 times a second), or that finds the
// thread inside the profiler, delays a charge and loses none.  What is left at the end of a thread
// or of the profile is charged there.
#ifndef ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_
#define ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_

#include <cstdint>
#include <string>

namespace allomon::internal {

inline constexpr uint32_t kDefaultHz = 100;
inline constexpr uint32_t kMostHz = 10000;

// Receives the time if it is not for the profile: monitor(3C)'s histogram.  It is told where the
// thread was, and what it used; on any thread, in signal handlers too.
using TimeSink = void (*)(uintptr_t pc, uint64_t amount_ns);

// Times every thread there is, and from now on every new one.  On failure returns false and *error
// is one line.  Not in signal handlers; one call at a time.
bool StartTimers(uint32_t hz, TimeSink sink, std::string* error);
bool TimersRun();

// Charges what is outstanding, and ends all timers.
void StopTimers();

// Charges what every thread has used up to now.  Thread safe; not in signal handlers.
void ChargeOutstandingTime();

// Charges what the calling thread has used to its current unit, which it is about to leave.  Cost:
// a system call while timers run.
void ChargeTimeOfUnit();

// For the calling thread, as it starts and ends; nothing unless timers run.
void StartThreadTimer();
void EndThreadTimer();

// In a forked child, which inherits no timers.
void RestartTimersAfterFork();

// Frames that a program without functions of its own is charged by.
void SetTimeFrames(uint32_t frames);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_SOURCES_TIME_SESSION_H_
