#include "tracker/profile/sources/thread_timers.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tracker/base/large_object.h"
#include "tracker/base/own_threads.h"
#include "tracker/base/signal_frame.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/shared_signal.h"
#include "tracker/profile/sources/tick_stack.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace allomon::internal {

std::atomic<void (*)(const char* text, size_t bytes)> tick_line_writer{nullptr};

namespace {

constexpr pid_t kFree = 0;
constexpr pid_t kClaimed = -1;

constexpr size_t kMostThreads = 16384;

ALLOMON_LARGE_ZEROS ThreadTimer g_timers[kMostThreads];

std::atomic<size_t> g_end{0};  // after the last timer that was ever used
int g_signal = 0;
// One start may store it while late signals of earlier timers arrive.  Release and acquire: a
// signal sees the data that the start has prepared.
std::atomic<TickHandler> g_handler{nullptr};
// From then on timers do not run; their threads' time is charged where they end.
std::atomic<bool> g_return_is_refused{false};
std::atomic<bool> g_refusal_is_said{false};
std::atomic<bool> g_crowd_is_said{false};

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// The kernel's name for the CPU clock of a thread (include/linux/posix-timers.h).
clockid_t ClockOf(pid_t thread_id) {
  constexpr clockid_t kPerThreadSchedulerClock = 4 | 2;
  return static_cast<clockid_t>((~static_cast<uint32_t>(thread_id) << 3) |
                                kPerThreadSchedulerClock);
}

bool IsOurs(const void* pointer) {
  return pointer >= &g_timers[0] && pointer < &g_timers[kMostThreads];
}

// Whether a tick may run on the handler's own stack.  Only of an alternate one the end is known.
bool HasRoomForTick(const void* context) {
  constexpr uintptr_t kTickBytes = 16384;
  const stack_t& alternate = static_cast<const ucontext_t*>(context)->uc_stack;
  const char here = 0;
  const uintptr_t room =
      reinterpret_cast<uintptr_t>(&here) - reinterpret_cast<uintptr_t>(alternate.ss_sp);
  return room >= alternate.ss_size || room >= kTickBytes;
}

struct DueTick {
  ThreadTimer& timer;
  const FrameState where;
};

void Handle(void* due) {
  const DueTick& tick = *static_cast<DueTick*>(due);
  // Pairs with the release in ClaimTimerSignal().
  g_handler.load(std::memory_order_acquire)(tick.timer, tick.where);
}

void OnTick(ThreadTimer& timer, void* context) {
  // A signal that was pending when its timer's thread ended may be delivered to another thread.
  if (timer.thread_id.load(std::memory_order_acquire) != ThisThread()) return;
  thread_profile.timer = &timer;
  DueTick tick = {timer, InterruptedFrame(context)};
  // Processors tick together, so a machine of many may need more stacks than there are.  On a small
  // one the thread's next tick charges for both.
  if (!RunOnTickStack(Handle, &tick) && HasRoomForTick(context)) Handle(&tick);
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (info->si_code == SI_TIMER && IsOurs(info->si_value.sival_ptr)) {
    OnTick(*static_cast<ThreadTimer*>(info->si_value.sival_ptr), context);
    errno = saved_errno;
  } else {
    CallHostHandler(signal, info, context);
  }
}

ThreadTimer* ClaimTimer() {
  for (size_t i = 0; i < kMostThreads; ++i) {
    pid_t free = kFree;
    // Acquire pairs with the release in ReleaseTimer(): the thread before has done with it.
    if (g_timers[i].thread_id.load(std::memory_order_relaxed) == kFree &&
        g_timers[i].thread_id.compare_exchange_strong(free, kClaimed, std::memory_order_acquire)) {
      size_t end = g_end.load(std::memory_order_relaxed);
      // Pairs with the acquire in UsedTimers().
      while (end <= i && !g_end.compare_exchange_weak(end, i + 1, std::memory_order_release)) {
      }
      return &g_timers[i];
    }
  }
  return nullptr;
}

// Pairs with the acquire in ClaimTimer().
void ReleaseTimer(ThreadTimer& timer) { timer.thread_id.store(kFree, std::memory_order_release); }

// A timer takes a place among the user's pending signals, whose number is limited.  A thread
// that finds no place left has a clock all the same.
bool Arm(ThreadTimer& timer, pid_t thread_id, uint32_t hz) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = g_signal;
  event.sigev_value.sival_ptr = &timer;
  event.sigev_notify_thread_id = thread_id;
  timer.ticks = timer_create(timer.clock, &event, &timer.timer) == 0;
  if (!timer.ticks) return errno == EAGAIN;
  if (g_return_is_refused.load(std::memory_order_relaxed)) return true;
  itimerspec period = {};
  period.it_interval.tv_sec = hz == 1 ? 1 : 0;
  period.it_interval.tv_nsec = hz == 1 ? 0 : 1'000'000'000 / hz;
  period.it_value = period.it_interval;
  timer_settime(timer.timer, 0, &period, nullptr);
  return true;
}

// A thread inherits the signal mask of its creator, and libraries block all signals around that
// (liblzma): its ticks would stay pending, and its time would be charged nowhere.
void UnblockSignal() {
  sigset_t ticks;
  sigemptyset(&ticks);
  sigaddset(&ticks, g_signal);
  pthread_sigmask(SIG_UNBLOCK, &ticks, nullptr);
}

// The signals that are delivered only after a tick.  A host's handler inside a tick may leave it by
// siglongjmp, and the thread would be inside the profiler for ever: its time, and its samples,
// would be charged to nothing.  The kernel also delivers a tick before a process's SIGPROF that is
// due as well, as gprof's is: that would find our handler running, and take it for the program's
// place.  Signals that an instruction or a system call of the tick itself raises cannot wait: the
// kernel would end the host.
sigset_t SignalsThatWait() {
  sigset_t waiting;
  sigfillset(&waiting);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&waiting, signal);
  }
  return waiting;
}

void WriteLine(const char* line, size_t bytes) {
  const auto write_line = tick_line_writer.load(std::memory_order_acquire);
  if (write_line != nullptr) return write_line(line, bytes);
  sys::Write(STDERR_FILENO, line, bytes);
}

template <size_t kBytes>
void SayOnce(std::atomic<bool>* is_said, const char (&line)[kBytes]) {
  if (!is_said->exchange(true, std::memory_order_relaxed)) WriteLine(line, kBytes - 1);
}

void SayThatThreadHasNoTicks() {
  SayOnce(&g_refusal_is_said,
          "allomon: the limit of pending signals (ulimit -i) leaves no timer for further threads: "
          "their time goes to <unknown>\n");
}

void SayThatThreadIsLeftOut() {
  static_assert(kMostThreads == 16384, "in the line");
  SayOnce(&g_crowd_is_said,
          "allomon: 16384 threads at once are timed: the profile lacks the time of further ones\n");
}

}  // namespace

void OnTickReturnRefused() {
  ThreadTimer* const timer = thread_profile.timer;
  const itimerspec never = {};
  if (timer != nullptr && timer->ticks) timer_settime(timer->timer, 0, &never, nullptr);
  if (g_return_is_refused.exchange(true, std::memory_order_relaxed)) return;
  static constexpr char kLine[] =
      "allomon: a filter of system calls (seccomp) refuses rt_sigreturn, so no thread is "
      "interrupted "
      "from here on: its time goes to where it was last seen\n";
  WriteLine(kLine, sizeof(kLine) - 1);
}

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

bool ReadClock(clockid_t clock, uint64_t* now_ns) {
  timespec now;
  if (clock_gettime(clock, &now) != 0) return false;
  *now_ns = Nanoseconds(now);
  return true;
}

bool ReadThisThreadsClock(uint64_t* now_ns) {
  if (ReadClock(CLOCK_THREAD_CPUTIME_ID, now_ns)) return true;
  rusage used;
  if (getrusage(RUSAGE_THREAD, &used) != 0) return false;
  const auto microseconds = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
  };
  *now_ns = (microseconds(used.ru_utime) + microseconds(used.ru_stime)) * 1000;
  return true;
}

uint64_t TakeOutstanding(ThreadTimer& timer, uint64_t now_ns) {
  uint64_t charged = timer.charged_ns.load(std::memory_order_relaxed);
  while (charged < now_ns) {
    if (timer.charged_ns.compare_exchange_weak(charged, now_ns, std::memory_order_relaxed)) {
      return now_ns - charged;
    }
  }
  return 0;
}

// Takes the highest free signal: the C library and hosts take the lowest.
bool ClaimTimerSignal(TickHandler handler) {
  // Pairs with the acquire in OnTick(): the signal sees what the start has prepared.
  g_handler.store(handler, std::memory_order_release);
  if (g_signal != 0) return true;
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    action.sa_mask = SignalsThatWait();
    if (!SetTickAction(signal, action)) continue;
    g_signal = signal;
    ShareSignal(signal);
    return true;
  }
  return false;
}

ThreadTimer* TimeThread(pid_t thread_id, uint32_t hz) {
  ThreadTimer* const timer = ClaimTimer();
  if (timer == nullptr) return SayThatThreadIsLeftOut(), nullptr;
  timer->clock = ClockOf(thread_id);
  timer->unit.store(nullptr, std::memory_order_relaxed);
  timer->last.store(kUnknownSource, std::memory_order_relaxed);
  timer->last_pc.store(0, std::memory_order_relaxed);
  uint64_t now_ns = 0;
  if (ReadClock(timer->clock, &now_ns)) {
    timer->charged_ns.store(now_ns, std::memory_order_relaxed);
    if (Arm(*timer, thread_id, hz)) {
      // From this store on the timer's signals are handled.  Release: a reader of the id sees all
      // other fields filled in.
      timer->thread_id.store(thread_id, std::memory_order_release);
      if (thread_id == ThisThread()) {
        thread_profile.timer = timer;
        UnblockSignal();
      }
      return timer;
    }
  }
  ReleaseTimer(*timer);
  return nullptr;
}

void TimeFurtherThread(pid_t thread_id, uint32_t hz) {
  const ThreadTimer* const timer = TimeThread(thread_id, hz);
  if (timer != nullptr && !timer->ticks) SayThatThreadHasNoTicks();
}

// Pairs with the release in ClaimTimer().
TimerRange UsedTimers() { return {&g_timers[0], &g_timers[g_end.load(std::memory_order_acquire)]}; }

void EndTimer(ThreadTimer& timer) {
  if (timer.ticks) timer_delete(timer.timer);
  ReleaseTimer(timer);
}

ThreadTimer* FindTimer(pid_t thread_id) {
  for (ThreadTimer& timer : UsedTimers()) {
    // Pairs with the release by which the timer's thread entered its id.
    if (timer.thread_id.load(std::memory_order_acquire) == thread_id) return &timer;
  }
  return nullptr;
}

void TimeExistingThreads(uint32_t hz) {
  VisitOwnThreads([hz](pid_t thread_id) {
    if (FindTimer(thread_id) == nullptr) TimeFurtherThread(thread_id, hz);
  });
}

void ForgetTimers() {
  for (ThreadTimer& timer : UsedTimers()) ReleaseTimer(timer);
  ForgetTickStacks();
}

}  // namespace allomon::internal
