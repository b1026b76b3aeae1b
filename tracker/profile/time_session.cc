#include "tracker/profile/time_session.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "tracker/callstack/capture.h"
#include "tracker/internal/entries.h"
#include "tracker/internal/thread_state.h"
#include "tracker/profile/data_units.h"
#include "tracker/profile/recording.h"
#include "tracker/profile/source_table.h"
#include "tracker/profile/thread_profile.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace allomon::internal {

// One for each thread that is timed.  In a table of its own, since a signal may arrive
// with a pointer to one whose thread has ended.
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

namespace {

constexpr pid_t kFree = 0;
constexpr pid_t kClaimed = -1;

constexpr size_t kMostThreads = 16384;
constexpr uint32_t kMostFrames = 128;

ThreadTimer g_timers[kMostThreads];

// Held by who makes and ends timers, so that none is made while all are ended, and one thread
// has one.  Not by the signal handler, which goes by the timer's thread_id alone.
std::mutex& TimersMutex() {
  alignas(std::mutex) static unsigned char storage[sizeof(std::mutex)];
  static std::mutex* const mutex = new (storage) std::mutex;
  return *mutex;
}
using TimersLock = std::lock_guard<std::mutex>;

std::atomic<size_t> g_end{0};   // behind the last that was ever used
std::atomic<uint32_t> g_hz{0};  // 0: no timers
std::atomic<uint32_t> g_frames{kMostFrames};
std::atomic<TimeSink> g_sink{nullptr};
int g_signal = 0;

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// The kernel's name for the CPU clock of a thread (include/linux/posix-timers.h).
clockid_t ClockOf(pid_t thread_id) {
  constexpr clockid_t kPerThreadSchedulerClock = 4 | 2;
  return static_cast<clockid_t>((~static_cast<uint32_t>(thread_id) << 3) |
                                kPerThreadSchedulerClock);
}

// False if the thread has ended.
bool ReadClock(clockid_t clock, uint64_t* now_ns) {
  timespec now;
  if (clock_gettime(clock, &now) != 0) return false;
  *now_ns = Nanoseconds(now);
  return true;
}

// What was used since the last charge, which is then charged.  Any thread.
uint64_t TakeOutstanding(ThreadTimer& timer, uint64_t now_ns) {
  uint64_t charged = timer.charged_ns.load(std::memory_order_relaxed);
  while (charged < now_ns) {
    if (timer.charged_ns.compare_exchange_weak(charged, now_ns, std::memory_order_relaxed)) {
      return now_ns - charged;
    }
  }
  return 0;
}

void ChargeFunction(ThreadProfile& thread, ThreadTimer& timer, uint32_t function,
                    uint64_t amount_ns) {
  DataUnit& unit = UnitOf(thread);
  (thread.counts != nullptr ? thread.counts : unit.common)->Charge(function, amount_ns);
  if (ChargesCallstacks()) return;  // `last` names a call stack
  timer.unit.store(&unit, std::memory_order_relaxed);
  timer.last.store(function, std::memory_order_relaxed);
}

StackId InternStack(const FrameState& where) {
  uintptr_t frames[kMostFrames];
  bool cut = false;
  const size_t depth =
      CaptureCallstack(where, frames, g_frames.load(std::memory_order_relaxed), &cut);
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

// Charges the thread that it runs on.  Not while that is inside the profiler or tracker,
// whose locks and stacks it would need: the next tick charges for both.
void Tick(ThreadTimer& timer, const FrameState& where) {
  ThreadProfile& thread = thread_profile;
  if (thread.busy || CurrentThread().busy || !recording.Records(ProfileKind::kTime)) return;
  const BusyScope busy;
  uint64_t now_ns = 0;
  if (!ReadClock(CLOCK_THREAD_CPUTIME_ID, &now_ns)) return;
  const uint64_t amount_ns = TakeOutstanding(timer, now_ns);
  if (amount_ns == 0) return;
  if (ChargesCallstacks() && thread.collecting == 0) {
    AddToStackTimes(thread, where.sp, amount_ns);
    return ChargeStack(thread, timer, where, amount_ns);
  }
  ChargeFunction(thread, timer, RunningFunction(thread, where.sp), amount_ns);
  if (ChargesCallstacks() && recording.stack_style()) {
    UnitOf(thread).by_stack_gc.Add(InternStack(where), amount_ns);
  }
}

// A sink needs no locks of ours, so that no place is too delicate for it.
void TickForSink(ThreadTimer& timer, TimeSink sink, uintptr_t pc) {
  uint64_t now_ns = 0;
  if (!ReadClock(CLOCK_THREAD_CPUTIME_ID, &now_ns)) return;
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

bool IsOurs(const void* pointer) {
  return pointer >= &g_timers[0] && pointer < &g_timers[kMostThreads];
}

FrameState InterruptedFrame(const void* context) {
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return {static_cast<uintptr_t>(registers[REG_RIP]), static_cast<uintptr_t>(registers[REG_RSP]),
          static_cast<uintptr_t>(registers[REG_RBP])};
#else
  static_cast<void>(context);
  const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return {reinterpret_cast<uintptr_t>(__builtin_return_address(0)), frame, frame};
#endif
}

void OnSignal(int, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (info->si_code == SI_TIMER && IsOurs(info->si_value.sival_ptr)) {
    ThreadTimer& timer = *static_cast<ThreadTimer*>(info->si_value.sival_ptr);
    // A signal that was pending when its timer's thread ended may meet another thread.
    if (timer.thread_id.load(std::memory_order_acquire) == ThisThread()) {
      thread_profile.timer = &timer;
      TickAt(timer, InterruptedFrame(context));
    }
  }
  errno = saved_errno;
}

// From the highest down: the C library and hosts take the lowest.
bool ClaimSignal() {
  if (g_signal != 0) return true;
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, nullptr) != 0) continue;
    g_signal = signal;
    return true;
  }
  return false;
}

ThreadTimer* ClaimTimer() {
  for (size_t i = 0; i < kMostThreads; ++i) {
    pid_t free = kFree;
    if (g_timers[i].thread_id.load(std::memory_order_relaxed) == kFree &&
        g_timers[i].thread_id.compare_exchange_strong(free, kClaimed, std::memory_order_acquire)) {
      size_t end = g_end.load(std::memory_order_relaxed);
      while (end <= i && !g_end.compare_exchange_weak(end, i + 1, std::memory_order_release)) {
      }
      return &g_timers[i];
    }
  }
  return nullptr;
}

void ReleaseTimer(ThreadTimer& timer) { timer.thread_id.store(kFree, std::memory_order_release); }

bool Arm(ThreadTimer& timer, pid_t thread_id) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = g_signal;
  event.sigev_value.sival_ptr = &timer;
  event.sigev_notify_thread_id = thread_id;
  if (timer_create(timer.clock, &event, &timer.timer) != 0) return false;
  const uint32_t hz = g_hz.load(std::memory_order_relaxed);
  itimerspec period = {};
  period.it_interval.tv_sec = hz == 1 ? 1 : 0;
  period.it_interval.tv_nsec = hz == 1 ? 0 : 1'000'000'000 / hz;
  period.it_value = period.it_interval;
  timer_settime(timer.timer, 0, &period, nullptr);
  return true;
}

// Null if it cannot be timed: it has ended, or the kernel refuses (see errno).
ThreadTimer* TimeThread(pid_t thread_id) {
  ThreadTimer* const timer = ClaimTimer();
  if (timer == nullptr) return nullptr;
  timer->clock = ClockOf(thread_id);
  timer->unit.store(nullptr, std::memory_order_relaxed);
  timer->last.store(kUnknownSource, std::memory_order_relaxed);
  timer->last_pc.store(0, std::memory_order_relaxed);
  uint64_t now_ns = 0;
  if (ReadClock(timer->clock, &now_ns)) {
    timer->charged_ns.store(now_ns, std::memory_order_relaxed);
    if (Arm(*timer, thread_id)) {
      // Its signals are heeded from here on.  Release: with all that was filled in.
      timer->thread_id.store(thread_id, std::memory_order_release);
      if (thread_id == ThisThread()) thread_profile.timer = timer;
      return timer;
    }
  }
  ReleaseTimer(*timer);
  return nullptr;
}

template <typename Visit>
void ForEachTimer(Visit visit) {
  const size_t end = g_end.load(std::memory_order_acquire);
  for (size_t i = 0; i < end; ++i) {
    if (g_timers[i].thread_id.load(std::memory_order_acquire) > 0) visit(g_timers[i]);
  }
}

void EndTimer(ThreadTimer& timer) {
  timer_delete(timer.timer);
  ReleaseTimer(timer);
}

ThreadTimer* FindTimer(pid_t thread_id) {
  ThreadTimer* found = nullptr;
  ForEachTimer([&](ThreadTimer& timer) {
    if (timer.thread_id.load(std::memory_order_relaxed) == thread_id) found = &timer;
  });
  return found;
}

// Where the thread's last tick went; the default unit if it had none, or if that was freed.
DataUnit& LastUnit(const ThreadTimer& timer) {
  const UnitsLock hold;
  DataUnit* const unit = timer.unit.load(std::memory_order_relaxed);
  return unit != nullptr && !unit->freed ? *unit : UnitOf(ThreadProfile{});
}

// What is left since a thread's last tick goes where that went: another thread's stack
// cannot be looked at, and one that ends has returned from what it did.
void ChargeAsLastTick(ThreadTimer& timer) {
  uint64_t now_ns = 0;
  if (!ReadClock(timer.clock, &now_ns)) return;
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

// The call stack here is the profiler's, so where stacks are charged the last tick must do.
__attribute__((noinline)) void ChargeThisThread(ThreadTimer& timer) {
  const bool for_sink = g_sink.load(std::memory_order_relaxed) != nullptr;
  if (for_sink || ChargesCallstacks() || HasTicked(timer)) return ChargeAsLastTick(timer);
  Tick(timer, ALLOMON_CALLER_FRAME());
}

void TimeExistingThreads() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* task = readdir(tasks)) {
    const pid_t thread_id = static_cast<pid_t>(atoi(task->d_name));
    if (thread_id > 0 && FindTimer(thread_id) == nullptr) TimeThread(thread_id);
  }
  closedir(tasks);
}

}  // namespace

void SetTimeFrames(uint32_t frames) {
  g_frames.store(frames < kMostFrames ? frames : kMostFrames, std::memory_order_relaxed);
}

bool TimersRun() { return g_hz.load(std::memory_order_relaxed) != 0; }

bool StartTimers(uint32_t hz, TimeSink sink, std::string* error) {
  const TimersLock hold(TimersMutex());
  if (TimersRun()) {
    *error = "the timers are in use: by a time profile, or by monitor()";
    return false;
  }
  if (!ClaimSignal()) {
    *error = "no real-time signal is free for the timers";
    return false;
  }
  g_sink.store(sink, std::memory_order_release);
  g_hz.store(hz, std::memory_order_relaxed);
  if (TimeThread(ThisThread()) == nullptr) {
    *error = std::string("cannot make a timer: ") + strerror(errno);
    g_hz.store(0, std::memory_order_relaxed);
    return false;
  }
  TimeExistingThreads();
  return true;
}

void ChargeOutstandingTime() {
  if (g_hz.load(std::memory_order_relaxed) == 0) return;
  const pid_t self = ThisThread();
  ForEachTimer([&](ThreadTimer& timer) {
    if (timer.thread_id.load(std::memory_order_relaxed) == self) {
      ChargeThisThread(timer);
    } else {
      ChargeAsLastTick(timer);
    }
  });
}

void ChargeTimeOfUnit() {
  ThreadTimer* const timer = thread_profile.timer;
  if (timer == nullptr || g_hz.load(std::memory_order_relaxed) == 0) return;
  if (timer->thread_id.load(std::memory_order_acquire) != ThisThread()) return;
  // The last tick says more than what runs now, if it was in this unit.
  DataUnit* const unit = &UnitOf(thread_profile);
  if (timer->unit.load(std::memory_order_relaxed) != unit) {
    timer->unit.store(ChargesCallstacks() ? unit : nullptr, std::memory_order_relaxed);
    timer->last.store(kUnknownSource, std::memory_order_relaxed);
  }
  ChargeThisThread(*timer);
}

void StopTimers() {
  const TimersLock hold(TimersMutex());
  ChargeOutstandingTime();
  g_hz.store(0, std::memory_order_relaxed);
  ForEachTimer(EndTimer);
}

void StartThreadTimer() {
  if (!TimersRun()) return;
  const TimersLock hold(TimersMutex());
  if (!TimersRun()) return;
  // One of this id is of a thread that ended unseen, or `start` has just found us.
  if (ThreadTimer* const former = FindTimer(ThisThread())) EndTimer(*former);
  TimeThread(ThisThread());
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
  // Whoever comes second finds it done.
  if (FindTimer(ThisThread()) != nullptr) return;
  new (&TimersMutex()) std::mutex;  // a thread that is not here may have held it
  for (size_t i = 0; i < g_end.load(std::memory_order_relaxed); ++i) ReleaseTimer(g_timers[i]);
  if (g_hz.load(std::memory_order_relaxed) != 0) TimeThread(ThisThread());
}

}  // namespace allomon::internal
