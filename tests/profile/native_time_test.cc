// A program that names no functions: its time is charged by captured call stacks.
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/profile_bytes.h"
#include "tracker/core/stack_table.h"
#include "tracker/profile/profile.h"

namespace allomon {

double ThreadTicks() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 100 + static_cast<double>(now.tv_nsec) / 1e7;
}

__attribute__((noinline)) void NativeWork(long rounds) {
  for (long i = 0; i < rounds; ++i) asm volatile("");
}

__attribute__((noinline)) void NativeOuter(double ticks) {
  const double end = ThreadTicks() + ticks;
  while (ThreadTicks() < end) NativeWork(10'000'000);
  asm volatile("");
}

// 16 Ki instructions, of which a tick may interrupt any.
__attribute__((noinline)) void LongCode(long rounds) {
  for (long i = 0; i < rounds; ++i) asm volatile(".rept 16384\n\tnop\n\t.endr");
}

namespace {

// 2 ticks or 2 %.
double Tolerance(double ticks) { return std::max(2.0, ticks * 0.02); }

TEST(NativeTimeTest, TimeAndStacksBySymbol) {
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  NativeOuter(100);
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = testing::Attributed();
  EXPECT_FALSE(profile.self_described);
  const MlmonCount work = testing::CountOf(profile, "allomon::NativeWork(long)");
  const MlmonCount outer = testing::CountOf(profile, "allomon::NativeOuter(double)");
  // The clock is read in between.
  EXPECT_GE(static_cast<double>(work.current), 90);
  EXPECT_NEAR(static_cast<double>(outer.stack), 100, Tolerance(100));
  EXPECT_TRUE(work.stack >= work.current && work.stack <= outer.stack);
  EXPECT_TRUE(outer.stack <= profile.mlmon.total);
}

// A stack for each instruction would use up the stack table's memory within hours.  Every kernel
// ticks at least 100 times in this second; the only code outside of LongCode() reads the clock.
TEST(NativeTimeTest, ManyInstructionsOfOneFunctionAreFewStacks) {
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.hz = 10000;
  const uint32_t stacks = internal::Stacks().size();
  ASSERT_TRUE(Profile::Start(options).ok());
  const double end = ThreadTicks() + 100;
  while (ThreadTicks() < end) LongCode(1000);
  ASSERT_TRUE(Profile::Stop().ok());
  RecordProperty("stacks", static_cast<int>(internal::Stacks().size() - stacks));
  EXPECT_LE(internal::Stacks().size() - stacks, 20u);
  const NamedProfile profile = testing::Attributed();
  EXPECT_GE(static_cast<double>(testing::CountOf(profile, "allomon::LongCode(long)").current), 90);
}

sigjmp_buf g_before_work;
volatile sig_atomic_t g_may_jump = 0;

void JumpOut(int) {
  if (g_may_jump != 0) siglongjmp(g_before_work, 1);
}

// Some hundred jumps in each tick's period, so that some would leave from inside a tick.
void WorkThatIsLeftByJumps(double ticks) {
  const double end = ThreadTicks() + ticks;
  while (ThreadTicks() < end) {
    if (sigsetjmp(g_before_work, 1) == 0) {
      g_may_jump = 1;
      NativeWork(10'000'000);
    }
    g_may_jump = 0;
  }
}

void SetAlarms(suseconds_t period) {
  const itimerval alarms = {{0, period}, {0, period}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &alarms, nullptr), 0);
}

TEST(NativeTimeTest, HandlersThatJumpAwayDoNotEndTheTicks) {
  struct sigaction jump = {};
  jump.sa_handler = JumpOut;
  ASSERT_EQ(sigaction(SIGALRM, &jump, nullptr), 0);
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.hz = 10000;
  ASSERT_TRUE(Profile::Start(options).ok());
  SetAlarms(97);
  WorkThatIsLeftByJumps(100);
  SetAlarms(0);
  NativeOuter(100);
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = testing::Attributed();
  EXPECT_GE(static_cast<double>(testing::CountOf(profile, "allomon::NativeWork(long)").current),
            90);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// A tick takes the kernel's frame of an alternate stack, and little more: a thread of Rust has 8
// KiB, of which that frame alone takes up to half.
TEST(NativeTimeTest, TicksNeedLittleOfAnAlternateStack) {
  constexpr size_t kOurBytes = 1024;
  constexpr size_t kPageBytes = 4096;
  const size_t kernel_bytes = std::max<size_t>(getauxval(AT_MINSIGSTKSZ), MINSIGSTKSZ);
  const size_t bytes = (kernel_bytes + kOurBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* const pages = static_cast<char*>(mmap(nullptr, bytes + kPageBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages, kPageBytes, PROT_NONE), 0);
  const char kUntouched = 0x5a;
  memset(pages + kPageBytes, kUntouched, bytes);
  stack_t stack = {};
  stack.ss_sp = pages + kPageBytes;
  stack.ss_size = bytes;
  stack_t former = {};
  ASSERT_EQ(sigaltstack(&stack, &former), 0);
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.style = ProfileStyle::kStack;
  options.hz = 10000;
  ASSERT_TRUE(Profile::Start(options).ok());
  NativeOuter(50);
  ASSERT_TRUE(Profile::Stop().ok());
  ASSERT_EQ(sigaltstack(&former, nullptr), 0);
  const char* const end = pages + kPageBytes + bytes;
  const char* const deepest = std::find_if(pages + kPageBytes, const_cast<char*>(end),
                                           [](char c) { return c != kUntouched; });
  RecordProperty("bytes", static_cast<int>(end - deepest));
  EXPECT_LE(static_cast<size_t>(end - deepest), kernel_bytes + kOurBytes);
  EXPECT_GT(end - deepest, 0);
  const NamedProfile profile = testing::Attributed();
  EXPECT_GE(static_cast<double>(testing::CountOf(profile, "allomon::NativeWork(long)").current),
            40);
  munmap(pages, bytes + kPageBytes);
}
#endif

TEST(NativeTimeTest, CallsCannotBeCounted) {
  ProfileOptions options;
  options.kind = ProfileKind::kCount;
  const absl::Status started = Profile::Start(options);
  EXPECT_EQ(started.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(started.message().find("-fpatchable-function-entry=9"), std::string::npos);
}

}  // namespace
}  // namespace allomon
