// The record that a thread keeps of its last capture: blocks, serials, the comparison of bp, and
// captures that interrupt one another.
#include "tracker/callstack/replay_record.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <thread>

#include "tests/callstack/frames.h"
#include "tests/callstack/recursion.h"
#include "tests/callstack/replay_checking.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/replay_thread.h"

namespace allomon {
namespace {

using testing::Capture;
using testing::kRoom;
using testing::RecurseChecking;
using testing::Stack;
using testing::Tally;

// checks inv.replay.own: a block gets another owner only when its thread has ended.
TEST(Replay, BlocksAreUsedAgain) {
  Tally tally;
  const uint32_t before = internal::ReplayBlocksForTesting();
  for (int i = 0; i < 50; ++i) {
    std::thread([&] { RecurseChecking(i + 1, 20, 50, &tally); }).join();
  }
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_LE(internal::ReplayBlocksForTesting(), before + 1);
}

__attribute__((noinline)) void CaptureInto(void* stack) {
  Capture(ALLOMON_CALLER_FRAME(), kRoom, static_cast<Stack*>(stack));
}

Stack serial_stacks[6];

// A thread has no record at first.
void CaptureRepeatedly(void*) {
  for (int i = 0; i < internal::kWalkedCaptures; ++i) CaptureInto(&serial_stacks[0]);
  volatile int rounds = 6;  // clang would make six calls of the loop
  for (int i = 0; i < rounds; ++i) {
    CaptureInto(&serial_stacks[i]);
  }
}

TEST(Replay, SameStackKeepsItsSerial) {
  // Frames of frames.cc have no saved frame pointer.  replay_test counts serials of those that
  // have.
  if (internal::kReturnsBesideBp) GTEST_SKIP() << "such frames are walked anew each time";
  testing::CallAtDepth(20, CaptureRepeatedly, nullptr);
  for (int i = 3; i < 6; ++i) {
    EXPECT_NE(serial_stacks[i].serial, 0u);
    EXPECT_EQ(serial_stacks[i].serial, serial_stacks[2].serial);
  }
  const uint64_t before = serial_stacks[5].serial;
  testing::CallAtDepth(21, CaptureRepeatedly, nullptr);
  EXPECT_EQ(serial_stacks[4].serial, serial_stacks[5].serial);
  EXPECT_NE(serial_stacks[5].serial, before);
}

// A record made before code was forgotten may describe code that is gone.
TEST(Replay, ForgetsWithTheRules) {
  testing::CallAtDepth(20, CaptureRepeatedly, nullptr);
  testing::CallAtDepth(
      20,
      [](void*) {
        for (int i = 0; i < 3; ++i) {
          if (i == 2) ForgetUnloadedCode();
          CaptureInto(&serial_stacks[i]);
        }
      },
      nullptr);
  EXPECT_TRUE(internal::replay_thread.block != nullptr);
  EXPECT_EQ(internal::replay_thread.block->generation, internal::replay_generation.load());
  EXPECT_NE(serial_stacks[2].serial, serial_stacks[1].serial);
}

using internal::RecordedFrame;

// Three frames: the step to the second one loads bp, which the second leaves to the third.
class Record : public ::testing::Test {
 protected:
  Record() {
    record_.Clear();
    record_.PushFresh({100, Sp(0), 7, kStart});
    record_.PushFresh({101, Sp(4), 8, Slot(2) | RecordedFrame::kKeepsBp});
    words_[2] = 8;
    words_[3] = 101;
    words_[7] = 102;
  }

  uintptr_t Sp(int i) { return reinterpret_cast<uintptr_t>(&words_[i]); }
  uintptr_t Slot(int i) { return Sp(i); }
  uint32_t Confirmed() {
    uintptr_t frames[8];
    return record_.Confirm(record_.begin(), record_.end() - 1, frames) - record_.begin() + 1;
  }

  static constexpr uintptr_t kStart = RecordedFrame::kExactPc | RecordedFrame::kNotReplayable;
  internal::ReplayRecord record_;
  alignas(8) uintptr_t words_[12] = {};
};

TEST_F(Record, TellsExactPcs) {
  record_.Append(record_.begin());
  const uint32_t i = record_.begin();
  EXPECT_TRUE(record_.Matches(i, 100, Sp(0), 7, RecordedFrame::kExactPc));
  EXPECT_FALSE(record_.Matches(i, 100, Sp(0), 7, 0));
  EXPECT_FALSE(record_.Matches(i + 1, 101, Sp(4), 8, RecordedFrame::kExactPc));
}

TEST_F(Record, ComparesBpOnlyWhereItIsNeeded) {
  if (internal::kReturnsBesideBp) GTEST_SKIP() << "bp is compared with each return address";
  record_.PushFresh({102, Sp(8), 8, 0});  // does not need bp: its rule loads it
  record_.Append(record_.begin());
  EXPECT_EQ(Confirmed(), 3u);
  words_[2] = 9;
  EXPECT_EQ(Confirmed(), 3u);
  words_[7] = 9;
  EXPECT_EQ(Confirmed(), 2u);
}

TEST_F(Record, ComparesBpOnceItIsNeeded) {
  if (internal::kReturnsBesideBp) GTEST_SKIP() << "bp is compared with each return address";
  record_.PushFresh({102, Sp(8), 8, 0});
  record_.Append(record_.begin());
  words_[2] = 9;
  // The third frame is now another one, which needs bp.
  words_[7] = 103;
  ASSERT_EQ(Confirmed(), 2u);
  const uint32_t second = record_.begin() + 1;
  RecordedFrame frame = record_.Recover(second, record_.begin(), 7);
  EXPECT_EQ(frame.bp, 9u);
  frame.how |= RecordedFrame::kKeepsBp;
  record_.PushFresh(frame);
  record_.PushFresh({103, Sp(8), 9, RecordedFrame::kNeedsBp});
  record_.Append(second);
  EXPECT_EQ(Confirmed(), 3u);
  words_[2] = 8;
  EXPECT_EQ(Confirmed(), 1u);
}

// The same if the freshly walked frame is the next outer one.
TEST_F(Record, ComparesBpOfInnerFramesOnceItIsNeeded) {
  if (internal::kReturnsBesideBp) GTEST_SKIP() << "bp is compared with each return address";
  record_.PushFresh({102, Sp(8), 8, 0});
  record_.Append(record_.begin());
  words_[2] = 9;
  record_.PushFresh({102, Sp(8), 9, RecordedFrame::kNeedsBp});
  record_.Append(record_.begin() + 2);
  EXPECT_EQ(Confirmed(), 3u);
  words_[2] = 8;
  EXPECT_EQ(Confirmed(), 1u);
}

// Captures in signal handlers, which interrupt captures, leave the thread's record right.

using testing::AnyRoom;
using testing::CaptureAfresh;
using testing::Checker;
using testing::Recursion;
using testing::Same;

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
