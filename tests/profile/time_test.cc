// Processor time, compared with the clock of the thread that used it.  Not wall time, so a busy
// machine changes nothing.
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <future>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/sources/thread_timers.h"
#include "tracker/profile/sources/time_session.h"

namespace allomon {
namespace {

using testing::CurrentOf;
using testing::StackOf;
using testing::TotalOf;

double ThreadTicks() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 100 + static_cast<double>(now.tv_nsec) / 1e7;
}

void Spin(double until) {
  while (ThreadTicks() < until) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
  }
}

// A timer of the test itself.  The kernel examines it together with the profile's, which on a busy
// machine has happened 180 ms of the thread's time late.
class KernelLooks {
 public:
  KernelLooks() {
    signal(SIGRTMIN + 5, [](int) { ++g_looks_; });
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 5;
    EXPECT_EQ(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_), 0);
    const itimerspec each_tick = {{0, 10'000'000}, {0, 10'000'000}};
    EXPECT_EQ(timer_settime(timer_, 0, &each_tick, nullptr), 0);
  }
  ~KernelLooks() { timer_delete(timer_); }

  // Uses `ticks`, and then more until the kernel examines the timer.  Returns the ticks used.
  static double Spin(double ticks) {
    const double start = ThreadTicks();
    allomon::Spin(start + ticks);
    for (const int seen = g_looks_; g_looks_ == seen;) allomon::Spin(ThreadTicks());
    return ThreadTicks() - start;
  }

 private:
  static inline std::atomic<int> g_looks_{0};
  timer_t timer_ = {};
};

void Short(double ticks) {
  ALLOMON_FUNCTION();
  Spin(ThreadTicks() + ticks);
}
void Long(double ticks) {
  ALLOMON_FUNCTION();
  Spin(ThreadTicks() + ticks);
}
// ShortToLook() and LongToLook() return after a due tick has been charged.  They return the ticks
// used.
double ShortToLook(double ticks) {
  ALLOMON_FUNCTION();
  return KernelLooks::Spin(ticks);
}
double LongToLook(double ticks) {
  ALLOMON_FUNCTION();
  return KernelLooks::Spin(ticks);
}
void Both(double ticks, double* used_short, double* used_long) {
  ALLOMON_FUNCTION();
  *used_short = ShortToLook(ticks);
  *used_long = LongToLook(3 * ticks);
}

// Returns 2 ticks or 2 %.  A tick that becomes due between two functions is charged to the second,
// and the kernel examines only its own tick, so short times are charged in twos.
double Tolerance(double ticks) { return std::max(2.0, ticks * 0.02); }

class TimeTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void Start(ProfileStyle style = ProfileStyle::kCurrent) {
    ProfileOptions options;
    options.kind = ProfileKind::kTime;
    options.style = style;
    options.hz = GetParam();
    // Another style first, so that no data of another test remains.
    Profile::Stop().IgnoreError();
    ASSERT_TRUE(Profile::Start().ok());
    ASSERT_TRUE(Profile::Stop().ok());
    ASSERT_TRUE(Profile::Start(options).ok());
  }
  void TearDown() override { Profile::Stop().IgnoreError(); }
};

INSTANTIATE_TEST_SUITE_P(, TimeTest, ::testing::Values(100, 10000));

TEST_P(TimeTest, TwoThreadsAreChargedTheirOwnTimeThreeToOne) {
  Start();
  double used[2] = {0, 0};
  std::thread short_thread([&used] {
    Short(50);
    used[0] = ThreadTicks();
  });
  std::thread long_thread([&used] {
    Long(150);
    used[1] = ThreadTicks();
  });
  short_thread.join();
  long_thread.join();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(CurrentOf("allomon::Short")), used[0], Tolerance(used[0]));
  EXPECT_NEAR(static_cast<double>(CurrentOf("allomon::Long")), used[1], Tolerance(used[1]));
}

TEST_P(TimeTest, NothingIsLostInThreadsThatEndBeforeTheirFirstTick) {
  Start();
  const double before = ThreadTicks();
  double used = 0;
  for (int i = 0; i < 100; ++i) {
    std::thread([&used] {
      // The time that the C library and sanitizers use before a thread is timed does not count.
      const double start = ThreadTicks();
      Short(0.5);
      used += ThreadTicks() - start;
    }).join();
  }
  used += ThreadTicks() - before;
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(TotalOf()), used, Tolerance(used));
}

TEST_P(TimeTest, ThreadsThatWereThereBeforeAreTimed) {
  std::promise<void> go;
  double used = 0;
  std::thread early([&] {
    go.get_future().wait();  // uses no time, which the next tick would charge to Long
    const double start = ThreadTicks();
    Long(30);
    used = ThreadTicks() - start;
  });
  Start();
  go.set_value();
  early.join();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(CurrentOf("allomon::Long")), used, Tolerance(used));
}

TEST_P(TimeTest, StackTimesKeepTheInvariants) {
  Start(ProfileStyle::kStack);
  double used_short = 0;
  double used_long = 0;
  {
    const KernelLooks looks;
    Both(100, &used_short, &used_long);
  }
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = testing::Attributed();
  MlmonInt sum = 0;
  for (const MlmonCount& count : profile.mlmon.masters) {
    sum += count.current;
    EXPECT_TRUE(count.current <= count.stack);
    EXPECT_TRUE(count.stack <= profile.mlmon.total);
  }
  EXPECT_TRUE(sum == profile.mlmon.total);
  // One tick more: the time after the last tick is charged to no caller.
  const double used = used_short + used_long;
  EXPECT_NEAR(static_cast<double>(StackOf("allomon::Both")), used, 1 + Tolerance(used));
  EXPECT_NEAR(static_cast<double>(CurrentOf("allomon::LongToLook")), used_long,
              Tolerance(used_long));
}

// The time since the last tick belongs to the unit that was current, not to the next.
TEST_P(TimeTest, UnitsGetTheTimeSpentInThem) {
  const ProfileData first = Profile::Malloc().value();
  const ProfileData second = Profile::Malloc().value();
  Start();
  double used[2] = {0, 0};
  for (int i = 0; i < 20; ++i) {
    const double start = ThreadTicks();
    ASSERT_TRUE(Profile::WithData(first, [] { Short(0.7); }).ok());
    const double middle = ThreadTicks();
    ASSERT_TRUE(Profile::WithData(second, [] { Long(1.9); }).ok());
    used[0] += middle - start;
    used[1] += ThreadTicks() - middle;
  }
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(TotalOf(first)), used[0], 1);
  EXPECT_NEAR(static_cast<double>(TotalOf(second)), used[1], 1);
  EXPECT_TRUE(Profile::Free(first).ok() && Profile::Free(second).ok());
}

// The kernel gives a forked child no timers; MLton's loses all its ticks.
TEST_P(TimeTest, ForkedChildIsTimedFromItsOwnStart) {
  Start();
  Short(5);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Long(20);
    const double used = ThreadTicks();
    const bool stopped = Profile::Stop().ok();
    const bool right = std::abs(static_cast<double>(TotalOf()) - used) <= Tolerance(used) &&
                       CurrentOf("allomon::Short") == 0;
    _exit(stopped && right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

std::atomic<int> host_signals{0};

// MLton refuses the program a SIGPROF of its own.
TEST_P(TimeTest, HostsOwnProfilingTimerGoesOn) {
  struct sigaction action = {};
  action.sa_handler = [](int) { host_signals.fetch_add(1); };
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGPROF, &action, &before), 0);
  Start();
  itimerval period = {{0, 10000}, {0, 10000}};
  ASSERT_EQ(setitimer(ITIMER_PROF, &period, nullptr), 0);
  host_signals = 0;
  Long(30);
  period = {};
  setitimer(ITIMER_PROF, &period, nullptr);
  struct sigaction now = {};
  sigaction(SIGPROF, &before, &now);
  EXPECT_EQ(now.sa_handler, action.sa_handler);
  EXPECT_GT(host_signals.load(), 0);
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(CurrentOf("allomon::Long")), 30, Tolerance(30));
}

TEST_P(TimeTest, ThreadThatBlocksAllSignalsIsChargedAtItsEnd) {
  Start();
  double used = 0;
  std::thread blocking([&used] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    Long(20);
    used = ThreadTicks();
  });
  blocking.join();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_NEAR(static_cast<double>(TotalOf()), used, Tolerance(used));
}

// Threads that the kernel gives no timer: their time counts, and one line says where it goes.
TEST_P(TimeTest, ThreadsBeyondTheLimitOfPendingSignalsAreCharged) {
  Start();
  rlimit former = {};
  ASSERT_EQ(getrlimit(RLIMIT_SIGPENDING, &former), 0);
  const rlimit none = {0, former.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
  ::testing::internal::CaptureStderr();
  double used[2] = {};
  for (double& ticks : used) {
    std::thread([&ticks] {
      Long(20);
      ticks = ThreadTicks();
    }).join();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(setrlimit(RLIMIT_SIGPENDING, &former), 0);
  ASSERT_TRUE(Profile::Stop().ok());
  const double all = used[0] + used[1];
  EXPECT_NEAR(static_cast<double>(TotalOf()), all, Tolerance(all));
  // The process says it once.
  static bool is_said = false;
  EXPECT_EQ(said.find("(ulimit -i) leaves no timer") != said.npos, !is_said) << said;
  is_said = true;
}

// In a process of its own: the places stay among those that each look goes through.
[[noreturn]] void TakeAllPlaces() {
  constexpr int kPlaces = 16384;
  internal::ClaimTimerSignal([](internal::ThreadTimer&, const FrameState&) {});
  int taken = 0;
  for (int i = 0; i <= kPlaces; ++i) {
    if (internal::TimeThread(internal::ThisThread(), 1) != nullptr) ++taken;
  }
  _exit(taken == kPlaces ? 0 : 1);
}

TEST(ThreadTimersTest, ThreadsWithoutAPlaceAreSaid) {
  EXPECT_EXIT(
      TakeAllPlaces(), ::testing::ExitedWithCode(0),
      "allomon: 16384 threads at once are timed: the profile lacks the time of further ones\n");
}

// A timer must not be armed without a rate, nor outlive its profile.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
// The mask is read from the kernel: the C library hides its own signals.
TEST_P(TimeTest, CancellationWaitsForTheEndOfATick) {
  struct {
    void (*handler)(int);
    unsigned long flags;  // NOLINT: as the kernel has it
    void (*restorer)();
    uint64_t mask;
  } action = {};
  constexpr uint64_t kOfPthreadCancel = uint64_t{1} << 31;  // signal 32
  Start();
  int handled = 0;
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    ASSERT_EQ(syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof(action.mask)), 0);
    if (action.handler == SIG_DFL || signal == SIGRTMIN + 5) continue;  // the test's own
    ++handled;
    EXPECT_NE(action.mask & kOfPthreadCancel, 0u) << signal;
  }
  EXPECT_EQ(handled, 1);
}
#endif

TEST_P(TimeTest, StopMeetsThreadsThatStart) {
  std::atomic<bool> done{false};
  std::vector<std::thread> makers;
  for (int t = 0; t < 2; ++t) {
    makers.emplace_back([&done] {
      while (!done) std::thread([] { Spin(ThreadTicks() + 0.002); }).join();
    });
  }
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.hz = GetParam();
  for (int round = 0; round < 300; ++round) {
    ASSERT_TRUE(Profile::Start(options).ok());
    std::this_thread::yield();
    ASSERT_TRUE(Profile::Stop().ok());
  }
  done = true;
  for (std::thread& maker : makers) maker.join();
  const int64_t total = TotalOf();
  Spin(ThreadTicks() + 3);
  EXPECT_EQ(TotalOf(), total);
  for (const internal::ThreadTimer& timer : internal::UsedTimers()) {
    EXPECT_FALSE(internal::IsTiming(timer)) << "somebody is timed without a profile";
  }
}

double ProcessTicks() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 100 + static_cast<double>(now.tv_nsec) / 1e7;
}

// A thread's timer passes to another thread while a writer reads its clock.  The thread sanitizer
// checks that, and no thread may be charged for the time of the previous one.
TEST_P(TimeTest, WriterMeetsThreadsThatStartAndEnd) {
  Start();
  const double before = ProcessTicks();
  std::atomic<bool> done{false};
  std::vector<std::thread> makers;
  for (int t = 0; t < 2; ++t) {
    makers.emplace_back([&done] {
      while (!done) std::thread([] { Spin(ThreadTicks() + 0.002); }).join();
    });
  }
  for (int i = 0; i < 100000; ++i) internal::ChargeOutstandingTime();
  done = true;
  for (std::thread& maker : makers) maker.join();
  ASSERT_TRUE(Profile::Stop().ok());
  const double used = ProcessTicks() - before;
  EXPECT_LE(static_cast<double>(TotalOf()), used + Tolerance(used));
}

// Pending signals of deleted timers would kill the program that exec starts.
TEST_P(TimeTest, ProgramStartedByExecIsNotKilledByTicks) {
  Start();
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Spin(ThreadTicks() + 0.9);
      execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace allomon
