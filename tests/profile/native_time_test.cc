// A program that names no functions: its time is charged by captured call stacks.
#include <time.h>

#include <cmath>
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

TEST(NativeTimeTest, CallsCannotBeCounted) {
  ProfileOptions options;
  options.kind = ProfileKind::kCount;
  const absl::Status started = Profile::Start(options);
  EXPECT_EQ(started.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(started.message().find("-fpatchable-function-entry=9"), std::string::npos);
}

}  // namespace
}  // namespace allomon
