// A signal handler frees a block, or captures a call stack, at each instruction of a sampled malloc
// and free.  The trap flag makes the processor raise SIGTRAP after every instruction, so each
// interleaving of the thread with its own handler happens.
//
// (C and POSIX forbid free in a handler.  Hosts call it nevertheless, and it works if the backend
// allows it.  The tracker must not be the part that breaks.)
#include <signal.h>

#include <algorithm>
#include <atomic>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/stress/counting_tracker.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/replay_thread.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::Counting;
using ::allomon::testing::g_allocs;
using ::allomon::testing::g_deallocs;

constexpr int kNever = -1;
constexpr unsigned long kTrapFlag = 0x100;

int g_steps = 0;
int g_next = kNever;
int g_stride = 0;  // 0: acts once, and the rest is not stepped through
void (*g_act)() = nullptr;

void OnStep(int, siginfo_t*, void* context) {
  if (++g_steps != g_next) return;
  g_next += g_stride;
  g_act();
  if (g_stride != 0) return;
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags &= ~static_cast<greg_t>(kTrapFlag);
}

__attribute__((noinline)) void Operation() { SamplingFree(SamplingMalloc(100)); }

// Runs the operation with interruptions.  Returns the number of its instructions.
__attribute__((noinline)) int Step(int first, int stride, void (*act)()) {
  g_steps = 0;
  g_next = first;
  g_stride = stride;
  g_act = act;
  asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
  Operation();
  asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
  return g_steps;
}

void* g_victim = nullptr;
void FreeVictim() { SamplingFree(g_victim); }

int g_captures = 0;
int g_whole_captures = 0;
__attribute__((noinline)) void Capture() {
  uintptr_t frames[64];
  bool truncated = false;
  const size_t count = CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, 64, &truncated);
  ++g_captures;
  if (count > 5 && !truncated) ++g_whole_captures;
}

class HandlerStepTest : public ::testing::Test {
 protected:
  void StartTracker(uint32_t callstack_size) {
    g_allocs = g_deallocs = 0;
    struct sigaction action = {};
    action.sa_sigaction = OnStep;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, nullptr), 0);
    StartOptions options;
    options.callstack_size = callstack_size;
    ASSERT_TRUE(Tracker::start(1, Counting{}, options).ok());
    // The first runs do the work of a first use: they map memory, learn the unwind rules, and give
    // the thread the record of its captures.
    for (int i = 0; i < internal::kWalkedCaptures; ++i) Step(kNever, 0, nullptr);
    // The least of several, since a run may meet rare work: one had 5,557 steps instead of 1,800.
    steps_ = Step(kNever, 0, nullptr);
    for (int i = 0; i < 5; ++i) steps_ = std::min(steps_, Step(kNever, 0, nullptr));
    ASSERT_GT(steps_, 200);
  }
  void TearDown() override {
    signal(SIGTRAP, SIG_DFL);
    ASSERT_TRUE(Tracker::stop().ok());
  }

  int steps_ = 0;
};

// A thread whose handler freed a block just when a callback began used to sample nothing
// afterwards.
TEST_F(HandlerStepTest, FreeInAHandlerAtEveryInstructionOfASampledBlock) {
  StartTracker(0);
  // In optimised code the operation has some 450 instructions, and the test stops at all of them.
  // Stepping to an instruction takes a trap for each instruction before it.  A sanitizer's build
  // has thousands of instructions, so the test stops at fewer of them, for the same total cost.
  const int stride = 1 + steps_ * steps_ / 250'000;
  for (int step = 1; step <= steps_; step += stride) {
    g_victim = SamplingMalloc(64);
    const int allocs_before = g_allocs;
    ASSERT_EQ(Step(step, 0, FreeVictim), step) << "has been stepped to, and freed";
    // Sampling continues.  A callback postponed past the last one runs at the next allocation.
    Operation();
    ASSERT_EQ(g_allocs, allocs_before + 2) << "step " << step << " of " << steps_;
    ASSERT_EQ(g_deallocs, g_allocs) << "step " << step << " of " << steps_;
  }
}

// A capture in the handler changes the path of the operation's own capture.  The handler therefore
// meets some of the operation's instructions twice, and misses a few.
TEST_F(HandlerStepTest, CaptureInAHandlerAtEveryInstructionOfASampledBlock) {
  StartTracker(StartOptions().callstack_size);
  constexpr int kStride = 40;
  for (int first = 1; first <= kStride; ++first) Step(first, kStride, Capture);
  EXPECT_GE(g_captures, steps_);
  EXPECT_EQ(g_whole_captures, g_captures);
  EXPECT_EQ(g_allocs, g_deallocs);
}

}  // namespace
}  // namespace allomon
