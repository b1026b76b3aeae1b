// Captures in signal handlers, which interrupt captures, leave the thread's record right.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "tests/callstack/recursion.h"
#include "tests/callstack/replay_checking.h"
#include "tracker/callstack/capture.h"

namespace allomon {
namespace {

using testing::AnyRoom;
using testing::Capture;
using testing::CaptureAfresh;
using testing::Checker;
using testing::kRoom;
using testing::RecurseChecking;
using testing::Recursion;
using testing::Same;
using testing::Tally;

Tally in_handler;
// One per thread, and not on the stack: a handler has little stack.
thread_local Checker handlers_checker;

__attribute__((noinline)) void CheckInHandler(int) {
  handlers_checker.tally = &in_handler;
  const FrameState here = ALLOMON_CALLER_FRAME();
  handlers_checker.Check(here, kRoom);
  // The interrupted capture must not find the record of this one.
  handlers_checker.Check(here, 3);
}

class Handling {
 public:
  Handling(int signal, int flags) : signal_(signal) {
    struct sigaction action = {};
    action.sa_handler = CheckInHandler;
    action.sa_flags = flags | SA_RESTART;
    EXPECT_EQ(sigaction(signal, &action, &before_), 0);
  }
  ~Handling() { sigaction(signal_, &before_, nullptr); }

 private:
  const int signal_;
  struct sigaction before_;
};

class AlternateStack {
 public:
  AlternateStack() {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {};
    stack.ss_sp = memory_;
    stack.ss_size = kBytes;
    EXPECT_EQ(sigaltstack(&stack, &before_), 0);
  }
  ~AlternateStack() {
    sigaltstack(&before_, nullptr);
    munmap(memory_, kBytes);
  }

 private:
  static constexpr size_t kBytes = 256 << 10;
  void* memory_;
  stack_t before_;
};

void RecurseUnderTimer() {
  Tally tally;
  const uint64_t handled_before = in_handler.captures;
  const itimerval every = {{0, 100}, {0, 100}};
  const itimerval never = {};
  setitimer(ITIMER_REAL, &every, nullptr);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    RecurseChecking(seed, 40, 1500, &tally);
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(in_handler.wrong, 0u);
  EXPECT_GT(in_handler.captures, handled_before);
}

TEST(Replay, EqualsFullWalkUnderSignals) {
  Handling handling(SIGALRM, 0);
  RecurseUnderTimer();
}

TEST(Replay, EqualsFullWalkUnderSignalsOnAlternateStack) {
  AlternateStack alternate;
  Handling handling(SIGALRM, SA_ONSTACK);
  RecurseUnderTimer();
}

// The thread sanitizer delays handlers until its own code has finished.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
constexpr unsigned long kTrapFlag = 0x100;

// Interrupts each instruction of a capture by a handler that captures, while the record is
// confirmed, spliced and rebuilt.
__attribute__((noinline)) void StepThroughCaptureHere(Recursion* recursion) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  const FrameState here = ALLOMON_CALLER_FRAME();
  const size_t room = AnyRoom(&recursion->dice);
  asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
  Capture(here, room, &checker->got);
  asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
  CaptureAfresh(here, room, &checker->expected);
  ++checker->tally->captures;
  if (!Same(checker->got, checker->expected)) ++checker->tally->wrong;
}

TEST(Replay, EachInstructionOfACaptureMayBeInterrupted) {
  const uint64_t bypassed_before = in_handler.bypassed;
  Tally tally;
  Checker checker = {};
  checker.tally = &tally;
  Handling handling(SIGTRAP, 0);
  Recursion recursion = {};
  recursion.dice.state = 4711;
  recursion.visit = StepThroughCaptureHere;
  recursion.argument = &checker;
  recursion.max_depth = 16;
  recursion.calls_left = 60;
  testing::Recurse(&recursion);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_EQ(in_handler.wrong, 0u);
  EXPECT_GT(in_handler.bypassed, bypassed_before + 1000);
}

#endif

}  // namespace
}  // namespace allomon
