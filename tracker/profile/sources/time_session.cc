#include "tracker/profile/sources/time_session.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "tracker/callstack/capture.h"
#include "tracker/core/stack_table.h"
#include "tracker/core/thread_state.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/thread_timers.h"

namespace allomon::internal {
namespace {

constexpr uint32_t kMostFrames = 128;

// Held by a thread that makes or ends timers.  So no timer is made while all are ended, and each
// thread has only one.  The signal handler does not take the mutex; it reads only the timer's
// thread_id.
std::mutex& TimersMutex() {
  alignas(std::mutex) static unsigned char storage[sizeof(std::mutex)];
  static std::mutex* const mutex = new (storage) std::mutex;
  return *mutex;
}
using TimersLock = std::lock_guard<std::mutex>;

std::atomic<uint32_t> g_hz{0};  // 0: no timers
std::atomic<uint32_t> g_frames{kMostFrames};
std::atomic<TimeSink> g_sink{nullptr};

void ChargeFunction(ThreadProfile& thread, ThreadTimer& timer, uint32_t function,
                    uint64_t amount_ns) {
  DataUnit& unit = UnitOf(thread);
  (thread.counts != nullptr ? thread.counts : unit.common)->Charge(function, amount_ns);
  if (ChargesCallstacks()) return;  // `last` names a call stack
  timer.unit.store(&unit, std::memory_order_relaxed);
  timer.last.store(function, std::memory_order_relaxed);
}

// The innermost frame is replaced by the start of its function.  The interrupted instructions
// themselves would each be a stack of their own: interned stacks live for ever, and a program of
// many hot instructions would use up the table's memory within hours.
StackId InternStack(const FrameState& where) {
  uintptr_t frames[kMostFrames];
  bool cut = false;
  const size_t depth =
      CaptureCallstackOfLoadedCode(where, frames, g_frames.load(std::memory_order_relaxed), &cut);
  if (depth != 0) frames[0] = FunctionStart(frames[0]);
  return Stacks().Intern(frames, static_cast<uint32_t>(depth), cut);
}

void ChargeStack(ThreadProfile& thread, ThreadTimer& timer, const FrameState& where,
                 uint64_t amount_ns) {
  const StackId stack = InternStack(where);
  DataUnit& unit = UnitOf(thread);
  unit.by_stack.Add(stack, amount_ns);
  timer.unit.store(&unit, std::memory_order_relaxed);
  timer.last.store(stack, std::memory_order_relaxed);
}

// Charges the thread on which it runs, unless the thread is inside the profiler or tracker, whose
// locks and stacks the charge would need.  The next tick then charges for both.
void Tick(ThreadTimer& timer, const FrameState& where) {
  ThreadProfile& thread = thread_profile;
  if (thread.busy || CurrentThread().busy || !recording.Records(ProfileKind::kTime)) return;
  const BusyScope busy;
  uint64_t now_ns = 0;
  if (!ReadThisThreadsClock(&now_ns)) return;
  const uint64_t amount_ns = TakeOutstanding(timer, now_ns);
  if (amount_ns == 0) return;
  if (ChargesCallstacks() && thread.collecting == 0) {
    AddToStackTimes(thread, where, amount_ns);
    return ChargeStack(thread, timer, where, amount_ns);
  }
  ChargeFunction(thread, timer, RunningFunction(thread, where), amount_ns);
  if (ChargesCallstacks() && recording.stack_style()) {
    UnitOf(thread).by_stack_gc.Add(InternStack(where), amount_ns);
  }
}

// A sink needs no lock of the profiler, so a tick is charged wherever the thread is.
void TickForSink(ThreadTimer& timer, TimeSink sink, uintptr_t pc) {
  uint64_t now_ns = 0;
  if (!ReadThisThreadsClock(&now_ns)) return;
  timer.last_pc.store(pc, std::memory_order_relaxed);
  const uint64_t amount_ns = TakeOutstanding(timer, now_ns);
  if (amount_ns != 0) sink(pc, amount_ns);
}

void TickAt(ThreadTimer& timer, const FrameState& where) {
  if (const TimeSink sink = g_sink.load(std::memory_order_acquire)) {
    TickForSink(timer, sink, where.pc);
  } else {
    Tick(timer, where);
  }
}

// The unit of the thread's last tick; the default unit if there was no tick, or if the unit was
// freed.
DataUnit& LastUnit(const ThreadTimer& timer) {
  const UnitsLock hold;
  DataUnit* const unit = timer.unit.load(std::memory_order_relaxed);
  return unit != nullptr && !unit->freed ? *unit : UnitOf(ThreadProfile{});
}

// Charges the time since a thread's last tick to the place of that tick: another thread's stack
// cannot be read, and a thread that ends has returned from its functions.
void ChargeAsLastTick(ThreadTimer& timer) {
  uint64_t now_ns = 0;
  const bool is_own = timer.thread_id.load(std::memory_order_relaxed) == ThisThread();
  if (!(is_own ? ReadThisThreadsClock(&now_ns) : ReadClock(timer.clock, &now_ns))) return;
  const uint64_t amount_ns = TakeOutstanding(timer, now_ns);
  if (amount_ns == 0) return;
  if (const TimeSink sink = g_sink.load(std::memory_order_acquire)) {
    return sink(timer.last_pc.load(std::memory_order_relaxed), amount_ns);
  }
  DataUnit& unit = LastUnit(timer);
  const uint32_t last = timer.last.load(std::memory_order_relaxed);
  if (ChargesCallstacks()) {
    unit.by_stack.Add(last, amount_ns);
  } else {
    unit.common->Charge(last, amount_ns);
  }
}

bool HasTicked(const ThreadTimer& timer) {
  return timer.unit.load(std::memory_order_relaxed) != nullptr;
}

// The call stack here is the profiler's, so if stacks are charged the last tick's stack is charged.
__attribute__((noinline)) void ChargeThisThread(ThreadTimer& timer) {
  const bool for_sink = g_sink.load(std::memory_order_relaxed) != nullptr;
  if (for_sink || ChargesCallstacks() || HasTicked(timer)) return ChargeAsLastTick(timer);
  Tick(timer, ALLOMON_CALLER_FRAME());
}

// Called under the timers' lock.  Otherwise a timer that was given to another thread would be
// charged by the clock of its former thread.
void ChargeOutstandingTimeLocked() {
  const pid_t self = ThisThread();
  for (ThreadTimer& timer : UsedTimers()) {
    if (!IsTiming(timer)) continue;
    if (timer.thread_id.load(std::memory_order_relaxed) == self) {
      ChargeThisThread(timer);
    } else {
      ChargeAsLastTick(timer);
    }
  }
}

}  // namespace

void SetTimeFrames(uint32_t frames) {
  g_frames.store(frames < kMostFrames ? frames : kMostFrames, std::memory_order_relaxed);
}

bool TimersRun() { return g_hz.load(std::memory_order_relaxed) != 0; }

bool StartTimers(uint32_t hz, TimeSink sink, std::string* error) {
  static constexpr CountSource kSource = {ChargeTimeOfUnit, [] {}, EndThreadTimer,
                                          [](FunctionCell*) {}};
  RegisterCountSource(kTimeSource, &kSource);
  const TimersLock hold(TimersMutex());
  if (TimersRun()) {
    *error = "the timers are in use: by a time profile, or by monitor()";
    return false;
  }
  if (!ClaimTimerSignal(TickAt)) {
    *error = "no real-time signal is free for the timers";
    return false;
  }
  g_sink.store(sink, std::memory_order_release);
  g_hz.store(hz, std::memory_order_relaxed);
  ThreadTimer* const own = TimeThread(ThisThread(), hz);
  if (own == nullptr || !own->ticks) {
    *error = std::string("cannot make a timer: ") + strerror(errno);
    if (own != nullptr) EndTimer(*own);
    g_hz.store(0, std::memory_order_relaxed);
    return false;
  }
  TimeExistingThreads(hz);
  return true;
}

void ChargeOutstandingTime() {
  if (!TimersRun()) return;
  const TimersLock hold(TimersMutex());
  ChargeOutstandingTimeLocked();
}

void ChargeTimeOfUnit() {
  if (!TimersRun()) return;
  const TimersLock hold(TimersMutex());
  ThreadTimer* const timer = thread_profile.timer;
  if (timer == nullptr) return;
  if (timer->thread_id.load(std::memory_order_acquire) != ThisThread()) return;
  // The last tick says more than the function that runs now, if the tick was in this unit.
  DataUnit* const unit = &UnitOf(thread_profile);
  if (timer->unit.load(std::memory_order_relaxed) != unit) {
    timer->unit.store(ChargesCallstacks() ? unit : nullptr, std::memory_order_relaxed);
    timer->last.store(kUnknownSource, std::memory_order_relaxed);
  }
  ChargeThisThread(*timer);
}

void StopTimers() {
  const TimersLock hold(TimersMutex());
  ChargeOutstandingTimeLocked();
  g_hz.store(0, std::memory_order_relaxed);
  for (ThreadTimer& timer : UsedTimers()) {
    if (IsTiming(timer)) EndTimer(timer);
  }
}

void StartThreadTimer() {
  if (!TimersRun()) return;
  const TimersLock hold(TimersMutex());
  if (!TimersRun()) return;
  // A timer of this id belongs to a thread that ended unnoticed, or StartTimers() has just made it
  // for this thread.
  if (ThreadTimer* const former = FindTimer(ThisThread())) EndTimer(*former);
  TimeFurtherThread(ThisThread(), g_hz.load(std::memory_order_relaxed));
}

void EndThreadTimer() {
  if (!TimersRun()) return;
  const TimersLock hold(TimersMutex());
  ThreadTimer* const timer = FindTimer(ThisThread());
  if (timer == nullptr) return;
  ChargeThisThread(*timer);
  EndTimer(*timer);
}

void RestartTimersAfterFork() {
  // The profile and monitor() both call this function; the second call finds the timers restarted.
  if (FindTimer(ThisThread()) != nullptr) return;
  new (&TimersMutex()) std::mutex;  // a thread that the child does not have may have held it
  ForgetTimers();
  if (TimersRun()) TimeFurtherThread(ThisThread(), g_hz.load(std::memory_order_relaxed));
}

}  // namespace allomon::internal
