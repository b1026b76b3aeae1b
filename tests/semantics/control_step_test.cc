// A signal handler allocates at each instruction of a start, a stop and similar operations: the
// trap flag makes the processor raise SIGTRAP after every instruction.
//
// The handler's malloc finds a new epoch to enter, for which it would have to wait for the
// registry, whose lock its own thread may hold.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

constexpr unsigned long kTrapFlag = 0x100;

std::atomic<int> g_steps{0};

struct Nothing {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};

void AllocateInHandler(int) {
  ++g_steps;
  SamplingFree(SamplingMalloc(40));
}

template <typename Operation>
__attribute__((noinline)) void StepThrough(Operation operation) {
  asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
  operation();
  asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
}

// Runs the operation in a child, which an alarm ends if it deadlocks.
template <typename Operation>
void ExpectThatAHandlerMayAllocateIn(Operation operation) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    signal(SIGTRAP, AllocateInHandler);
    StepThrough(operation);
    signal(SIGTRAP, SIG_DFL);
    _exit(g_steps > 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

StartOptions WithoutStacks() {
  StartOptions options;
  options.callstack_size = 0;
  options.concurrent = true;
  return options;
}

TEST(ControlStepTest, HandlerAllocatesAtEveryInstructionOfTheFirstStart) {
  ExpectThatAHandlerMayAllocateIn(
      [] { Tracker::start(1, Nothing{}, WithoutStacks()).IgnoreError(); });
}

class RunningControlStepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto id = Tracker::start(1, Nothing{}, WithoutStacks());
    ASSERT_TRUE(id.ok());
    id_ = *id;
    SamplingFree(SamplingMalloc(40));
  }
  void TearDown() override { EXPECT_TRUE(Tracker::stop(id_).ok()); }

  TrackerId id_;
};

TEST_F(RunningControlStepTest, HandlerAllocatesAtEveryInstructionOfAnotherStart) {
  ExpectThatAHandlerMayAllocateIn(
      [] { Tracker::start(1, Nothing{}, WithoutStacks()).IgnoreError(); });
}

TEST_F(RunningControlStepTest, HandlerAllocatesAtEveryInstructionOfAStop) {
  ExpectThatAHandlerMayAllocateIn([this] { Tracker::stop(id_).IgnoreError(); });
}

TEST_F(RunningControlStepTest, HandlerAllocatesAtEveryInstructionOfStopAndDrain) {
  ExpectThatAHandlerMayAllocateIn([this] {
    Tracker::stop(id_, StopMode::kKeepTracking).IgnoreError();
    Tracker::drain(id_).IgnoreError();
  });
}

TEST_F(RunningControlStepTest, HandlerAllocatesAtEveryInstructionOfStatistics) {
  ExpectThatAHandlerMayAllocateIn([this] {
    if (!Tracker::statistics(id_).ok() || Tracker::is_sampling()) abort();
  });
}

}  // namespace
}  // namespace allomon
