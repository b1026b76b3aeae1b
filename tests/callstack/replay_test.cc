// A capture that is helped by the last one must be the same as one that is not.
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/callstack/frames.h"
#include "tests/callstack/recursion.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/replay_record.h"
#include "tracker/callstack/replay_thread.h"

namespace allomon {
namespace {

using testing::Recursion;

constexpr size_t kRoom = 600;

// No constructor: in signal handlers too.
struct Stack {
  uintptr_t frames[kRoom];
  size_t count;
  bool truncated;
  uint64_t serial;
};

bool Same(const Stack& a, const Stack& b) {
  return a.count == b.count && a.truncated == b.truncated &&
         memcmp(a.frames, b.frames, a.count * sizeof(a.frames[0])) == 0;
}

void Capture(FrameState start, size_t max_frames, Stack* stack) {
  stack->count = CaptureCallstackWithSerial(start, stack->frames, max_frames, &stack->truncated,
                                            &stack->serial);
}

void CaptureAfresh(FrameState start, size_t max_frames, Stack* stack) {
  stack->serial = 0;
  stack->count = CaptureCallstackAfresh(start, stack->frames, max_frames, &stack->truncated);
}

struct Tally {
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> bypassed{0};
  std::atomic<uint64_t> repeated{0};
  std::atomic<uint64_t> foreseen{0};
};

// What one thread, or one thread's handler, compares with.
struct Checker {
  Tally* tally;
  Stack got;
  Stack expected;
  Stack with_last_serial;
  size_t last_max_frames;

  __attribute__((noinline)) void Check(FrameState start, size_t max_frames) {
    const uint64_t last = with_last_serial.serial;
    const bool asked = last != 0 && max_frames == last_max_frames;
    const bool foreseen = asked && HasSerial(start, last);
    Capture(start, max_frames, &got);
    CaptureAfresh(start, max_frames, &expected);
    ++tally->captures;
    if (!Same(got, expected)) ++tally->wrong;
    // A handler that captures behind the question gives the same stack another serial.
    if (foreseen ? !Same(with_last_serial, expected) : asked && got.serial == last) {
      ++tally->wrong;
    }
    if (got.serial == 0) {
      ++tally->bypassed;
    } else if (got.serial == with_last_serial.serial) {
      ++tally->repeated;
      if (!Same(got, with_last_serial)) ++tally->wrong;
    }
    if (foreseen) ++tally->foreseen;
    with_last_serial = got;
    last_max_frames = max_frames;
  }
};

// Half the time all frames, otherwise few, so that a stack is cut in what is
// recorded, behind it and at its end.
size_t AnyRoom(testing::Dice* dice) { return dice->Roll(2) == 0 ? kRoom : dice->Roll(40); }

__attribute__((noinline)) void CheckHere(Recursion* recursion) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  const FrameState here = ALLOMON_CALLER_FRAME();
  checker->Check(here, AnyRoom(&recursion->dice));
  if (recursion->dice.Roll(8) == 0) checker->Check(here, kRoom);
  if (recursion->dice.Roll(8) == 0) checker->Check(here, kRoom);
}

void RecurseChecking(uint64_t seed, uint32_t max_depth, int calls, Tally* tally) {
  Checker checker = {};
  checker.tally = tally;
  Recursion recursion = {};
  recursion.dice.state = seed;
  recursion.visit = CheckHere;
  recursion.argument = &checker;
  recursion.max_depth = max_depth;
  recursion.calls_left = calls;
  testing::Recurse(&recursion);
}

TEST(Replay, EqualsFullWalkInRandomRecursion) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RecurseChecking(seed, 2 + static_cast<uint32_t>(seed) * 2, 2000, &tally);
    ASSERT_EQ(tally.wrong, 0u) << seed;
  }
  EXPECT_GT(tally.captures, 30000u);
  EXPECT_GT(tally.repeated, 1000u);
  EXPECT_GT(tally.foreseen, 1000u);
}

// More frames than a record holds.
TEST(Replay, EqualsFullWalkInDeepRecursion) {
  Tally tally;
  RecurseChecking(77, 1000, 8000, &tally);
  RecurseChecking(78, 180, 8000, &tally);
  EXPECT_EQ(tally.wrong, 0u);
}

TEST(Replay, EqualsFullWalkInThreadsThatForget) {
  Tally tally;
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&tally, t] {
      for (int i = 0; i < 20; ++i) {
        RecurseChecking(1000 * t + i, 40, 500, &tally);
        if (i % 5 == 0) ForgetUnloadedCode();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tally.wrong, 0u);
}

TEST(Replay, EqualsFullWalkAfterFork) {
  Tally tally;
  RecurseChecking(5, 30, 200, &tally);
  const pid_t child = fork();
  if (child == 0) {
    RecurseChecking(6, 30, 1000, &tally);
    _exit(tally.wrong == 0 && tally.repeated > 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- One word at a time
// -------------------------------------------------------------

// A copy of the stack above a frame, in the stack, whose words can be changed
// without anyone returning through them.  What pointed into the original points
// into the copy.
struct TwinStack {
  static constexpr size_t kWords = 600;

  __attribute__((no_sanitize("address", "undefined"))) explicit TwinStack(FrameState original) {
    const uintptr_t begin = original.sp;
    const uintptr_t moved = reinterpret_cast<uintptr_t>(words) - begin;
    const auto move = [&](uintptr_t word) {
      return word - begin <= sizeof(words) ? word + moved : word;
    };
    for (size_t i = 0; i < kWords; ++i) {
      words[i] = move(*reinterpret_cast<const volatile uintptr_t*>(begin + 8 * i));
    }
    frame = {original.pc, move(original.sp), move(original.bp)};
  }

  uintptr_t words[kWords];
  FrameState frame;
};

// Changes each word of the copy to what it may become when a program runs: what
// another word is, something a little off, no pointer at all; and back.
void ChangeEachWord(Recursion* recursion, FrameState here) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  TwinStack twin(here);
  for (size_t i = 0; i < TwinStack::kWords; ++i) {
    const uintptr_t was = twin.words[i];
    for (uintptr_t value : {was + 8, twin.words[recursion->dice.Roll(TwinStack::kWords)], was + 16,
                            uintptr_t{0}, was ^ 1}) {
      // Twice: the first makes the record what the second relies on.
      checker->Check(twin.frame, kRoom);
      checker->Check(twin.frame, kRoom);
      twin.words[i] = value;
      checker->Check(twin.frame, kRoom);
      checker->Check(twin.frame, kRoom);
      twin.words[i] = was;
    }
  }
}

// The words of the copy that a walk may read: code of its frames, and addresses
// in the stack.
std::vector<uint32_t> WordsOfInterest(const TwinStack& twin, const Stack& stack) {
  std::vector<uint32_t> found;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(twin.words);
  for (uint32_t i = 0; i < TwinStack::kWords; ++i) {
    const uintptr_t word = twin.words[i];
    bool is_code = false;
    for (size_t k = 0; k < stack.count; ++k) is_code |= stack.frames[k] == word;
    if (is_code || word - begin < sizeof(twin.words)) found.push_back(i);
  }
  return found;
}

// Several words at a time, each with what another is, so that the record is
// spliced where words that were changed before then begin or cease to matter.
void ChangeWordsAtRandom(Recursion* recursion, FrameState here) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  testing::Dice& dice = recursion->dice;
  TwinStack twin(here);
  std::vector<uintptr_t> original(twin.words, twin.words + TwinStack::kWords);
  CaptureAfresh(twin.frame, kRoom, &checker->expected);
  const std::vector<uint32_t> places = WordsOfInterest(twin, checker->expected);
  const uint32_t count = static_cast<uint32_t>(places.size());
  for (int i = 0; i < 20000; ++i) {
    // The nearer the more often: what is behind a change does not matter.
    const uint32_t at = places[dice.Roll(1 + dice.Roll(count))];
    const uint32_t from = places[dice.Roll(count)];
    twin.words[at] = original[dice.Roll(3) == 0 ? from : at];
    FrameState frame = twin.frame;
    if (dice.Roll(8) == 0) frame.bp = original[from];
    checker->Check(frame, dice.Roll(4) == 0 ? dice.Roll(20) : kRoom);
    if (dice.Roll(50) == 0) {
      memcpy(twin.words, original.data(), sizeof(twin.words));
    }
  }
}

__attribute__((noinline)) void ChangeWordsHere(Recursion* recursion) {
  const FrameState here = ALLOMON_CALLER_FRAME();
  if (recursion->depth < 10 || recursion->dice.Roll(40) != 0) return;
  ChangeEachWord(recursion, here);
  ChangeWordsAtRandom(recursion, here);
}

TEST(Replay, SeesEachWordThatChanges) {
  Tally tally;
  Checker checker = {};
  checker.tally = &tally;
  // Under enough stack for the copies.
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Recursion recursion = {};
    recursion.dice.state = seed;
    recursion.visit = ChangeWordsHere;
    recursion.argument = &checker;
    recursion.max_depth = 24;
    recursion.calls_left = 150;
    testing::Recurse(&recursion);
    ASSERT_EQ(tally.wrong, 0u) << seed;
  }
  EXPECT_GT(tally.captures, 20000u);
  EXPECT_GT(tally.repeated, 5000u);
  EXPECT_GT(tally.foreseen, 5000u);
}

// ---- Signals
// ------------------------------------------------------------------------

Tally in_handler;
// One per thread of these tests; a handler has little stack.
thread_local Checker handlers_checker;

__attribute__((noinline)) void CheckInHandler(int) {
  handlers_checker.tally = &in_handler;
  const FrameState here = ALLOMON_CALLER_FRAME();
  handlers_checker.Check(here, kRoom);
  // The interrupted capture must not find what this one left.
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

// The thread sanitizer runs handlers when it likes, which is never here.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
constexpr unsigned long kTrapFlag = 0x100;

// Interrupts each instruction of a capture by a handler that captures, while
// the record is confirmed, spliced and made anew.
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

// ---- Records
// ------------------------------------------------------------------------

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

void CaptureRepeatedly(void*) {
  for (int i = 0; i < 6; ++i) {
    CaptureInto(&serial_stacks[i]);
  }
}

TEST(Replay, SameStackKeepsItsSerial) {
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

// What was recorded before cannot be told from code that has gone.
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

// Three frames: bp is loaded on the way to the second, which leaves it to the
// third.
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
  record_.PushFresh({102, Sp(8), 8, 0});  // and saved there, by its rule
  record_.Append(record_.begin());
  EXPECT_EQ(Confirmed(), 3u);
  words_[2] = 9;
  EXPECT_EQ(Confirmed(), 3u);
  words_[7] = 9;
  EXPECT_EQ(Confirmed(), 2u);
}

TEST_F(Record, ComparesBpOnceItIsNeeded) {
  record_.PushFresh({102, Sp(8), 8, 0});
  record_.Append(record_.begin());
  words_[2] = 9;
  // The third frame turns out to be another, which needs bp.
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

// The same where not the frame that leaves bp alone but one further out is
// walked anew.
TEST_F(Record, ComparesBpOfInnerFramesOnceItIsNeeded) {
  record_.PushFresh({102, Sp(8), 8, 0});
  record_.Append(record_.begin());
  words_[2] = 9;
  record_.PushFresh({102, Sp(8), 9, RecordedFrame::kNeedsBp});
  record_.Append(record_.begin() + 2);
  EXPECT_EQ(Confirmed(), 3u);
  words_[2] = 8;
  EXPECT_EQ(Confirmed(), 1u);
}

}  // namespace
}  // namespace allomon
