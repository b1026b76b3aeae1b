// A capture that uses the last one must equal a full capture.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/callstack/recursion.h"
#include "tests/callstack/replay_checking.h"
#include "tracker/callstack/capture.h"

namespace allomon {
namespace {

using testing::CaptureAfresh;
using testing::Checker;
using testing::kRoom;
using testing::RecurseChecking;
using testing::Recursion;
using testing::Stack;
using testing::Tally;

// checks inv.replay.exact: here and in the tests below.
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

// A copy, on the stack, of the stack above a frame.  Its words can be changed, since no function
// returns through them.  Pointers into the original point into the copy.
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

// Changes each word of the copy as a running program might: to another word of the stack, a value
// slightly off, no pointer at all; and back.
void ChangeEachWord(Recursion* recursion, FrameState here) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  TwinStack twin(here);
  for (size_t i = 0; i < TwinStack::kWords; ++i) {
    const uintptr_t was = twin.words[i];
    for (uintptr_t value : {was + 8, twin.words[recursion->dice.Roll(TwinStack::kWords)], was + 16,
                            uintptr_t{0}, was ^ 1}) {
      // Twice: the first capture makes the record that the second one uses.
      checker->Check(twin.frame, kRoom);
      checker->Check(twin.frame, kRoom);
      twin.words[i] = value;
      checker->Check(twin.frame, kRoom);
      checker->Check(twin.frame, kRoom);
      twin.words[i] = was;
    }
  }
}

// The words of the copy that a walk may read: code addresses of its frames, and addresses in the
// stack.
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

// Changes several words at a time, each to another word of the stack, so that the record is spliced
// at points where earlier changes begin or cease to matter.
void ChangeWordsAtRandom(Recursion* recursion, FrameState here) {
  auto* checker = static_cast<Checker*>(recursion->argument);
  testing::Dice& dice = recursion->dice;
  TwinStack twin(here);
  std::vector<uintptr_t> original(twin.words, twin.words + TwinStack::kWords);
  CaptureAfresh(twin.frame, kRoom, &checker->expected);
  const std::vector<uint32_t> places = WordsOfInterest(twin, checker->expected);
  const uint32_t count = static_cast<uint32_t>(places.size());
  for (int i = 0; i < 20000; ++i) {
    // Words near the start are changed more often: those after a changed word do not matter.
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

// The test has one thread, so the thread sanitizer finds nothing here.  Six seeds take it 16 s.
#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 1;
#else
constexpr uint64_t kSeeds = 6;
#endif

TEST(Replay, SeesEachWordThatChanges) {
  Tally tally;
  // Not on the stack.  A changed word may lead a walk through any of the stack's words, and the two
  // captures that are compared write the checker's.
  const auto checker = std::make_unique<Checker>();
  checker->tally = &tally;
  // Runs under a stack deep enough for the copies.
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Recursion recursion = {};
    recursion.dice.state = seed;
    recursion.visit = ChangeWordsHere;
    recursion.argument = checker.get();
    recursion.max_depth = 24;
    recursion.calls_left = 150;
    testing::Recurse(&recursion);
    ASSERT_EQ(tally.wrong, 0u) << seed;
  }
  EXPECT_GT(tally.captures, 20000u);
  EXPECT_GT(tally.repeated, 5000u);
  EXPECT_GT(tally.foreseen, 5000u);
}

}  // namespace
}  // namespace allomon
