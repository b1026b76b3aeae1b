// Frames of an interpreted language among native ones, by a walker.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "allomon/interpreter.h"
#include "gtest/gtest.h"
#include "tests/callstack/capturing.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/symbols/symbols.h"

namespace allomon {
namespace {

using testing::Captured;
using testing::CaptureHere;
using testing::IsIn;

// ---- A minimal interpreter whose frames appear in call stacks through the C interface: a loop
// runs functions of a toy language, each of which calls the next one or allocates.

struct ToyCode {
  std::string name;
  std::string file;
  uint32_t first_line;
  bool is_hidden = false;
};

// A frame of the toy language.
struct ToyFrame {
  const ToyCode* code;
  uint32_t line;
  const void* loop;  // an address in the native frame that runs it
  const ToyFrame* caller;
};

// This thread's innermost frame.
thread_local const ToyFrame* toy_frame = nullptr;

// A walk that reaches a frame with this caller ends as lost.
const ToyFrame kBrokenFrame = {};

int Begin(void*, allomon_interpreter_walk* walk) {
  walk->place[0] = reinterpret_cast<uintptr_t>(toy_frame);
  return toy_frame == nullptr ? ALLOMON_WALK_END : ALLOMON_WALK_FRAME;
}

int Next(void*, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame) {
  const auto* const next = reinterpret_cast<const ToyFrame*>(walk->place[0]);
  if (next == nullptr) return ALLOMON_WALK_END;
  if (next == &kBrokenFrame) return ALLOMON_WALK_LOST;
  frame->code = reinterpret_cast<uintptr_t>(next->code);
  frame->position = next->line;
  frame->native_frame = reinterpret_cast<uintptr_t>(next->loop);
  walk->place[0] = reinterpret_cast<uintptr_t>(next->caller);
  return ALLOMON_WALK_FRAME;
}

int Describe(void*, const allomon_interpreter_frame* frame,
             allomon_interpreter_function* function) {
  const auto* const code = reinterpret_cast<const ToyCode*>(frame->code);
  if (code->is_hidden) return ALLOMON_WALK_END;
  function->name = code->name.data();
  function->name_bytes = code->name.size();
  function->file = code->file.data();
  function->file_bytes = code->file.size();
  function->first_line = code->first_line;
  function->line = frame->position;
  return ALLOMON_WALK_FRAME;
}

// Runs body() as `line` of `code`, in a native frame of its own.
__attribute__((noinline)) void RunToyLoop(const ToyCode& code, uint32_t line,
                                          const std::function<void()>& body) {
  volatile int loop = 0;
  const ToyFrame frame = {&code, line, const_cast<int*>(&loop), toy_frame};
  toy_frame = &frame;
  body();
  toy_frame = frame.caller;
  loop = loop + 1;
}

// Does the same in the loop that runs the caller.
__attribute__((noinline)) void RunInToyLoop(const ToyCode& code, uint32_t line,
                                            const std::function<void()>& body) {
  const ToyFrame frame = {&code, line, toy_frame->loop, toy_frame};
  toy_frame = &frame;
  body();
  toy_frame = frame.caller;
}

// Called once for all tests of the process.
void RegisterToyInterpreter() {
  static const allomon_status status = [] {
    allomon_interpreter toy = ALLOMON_INTERPRETER_DEFAULTS;
    toy.begin = Begin;
    toy.next = Next;
    toy.describe = Describe;
    return allomon_interpreter_register(&toy);
  }();
  ASSERT_EQ(status, ALLOMON_OK);
}

// ---- The tests

const ToyCode kMain = {"main", "toy.t", 1};
const ToyCode kFold = {"fold", "list.t", 10};
const ToyCode kMap = {"map", "list.t", 20};

// "name file:line" of the frames that are not native, and "-" for each run of native ones.
std::vector<std::string> Shape(const Captured& stack) {
  std::vector<std::string> shape;
  for (const uintptr_t frame : stack.frames) {
    ManagedFunctionName name;
    if (FindManagedFunction(frame, &name)) {
      shape.push_back(std::string(name.name) + " " + std::string(name.file) + ":" +
                      std::to_string(name.line));
    } else if (shape.empty() || shape.back() != "-") {
      shape.push_back("-");
    }
  }
  return shape;
}

using Shapes = std::vector<std::string>;

allomon_interpreter_statistics Statistics() {
  allomon_interpreter_statistics statistics = ALLOMON_INTERPRETER_STATISTICS_DEFAULTS;
  EXPECT_EQ(allomon_interpreters_statistics(&statistics), ALLOMON_OK);
  return statistics;
}

class WalkerTest : public ::testing::Test {
 protected:
  void SetUp() override { RegisterToyInterpreter(); }
};

__attribute__((noinline)) void NativeLibrary(const std::function<void()>& body) {
  body();
  asm volatile("" ::: "memory");  // no tail call
}

TEST_F(WalkerTest, FramesTakeThePlaceOfTheLoopThatRunsThem) {
  Captured stack;
  const auto innermost = [&] { stack = CaptureHere(); };
  const auto middle = [&] {
    NativeLibrary([&] { RunToyLoop(kFold, 11, [&] { RunInToyLoop(kMap, 22, innermost); }); });
  };
  RunToyLoop(kMain, 2, middle);
  EXPECT_EQ(Shape(stack),
            (Shapes{"-", "map list.t:22", "fold list.t:11", "-", "main toy.t:2", "-"}));
  EXPECT_FALSE(stack.truncated);
  const auto is_library = [](uintptr_t frame) {
    return IsIn(frame, reinterpret_cast<void*>(&NativeLibrary));
  };
  EXPECT_EQ(std::count_if(stack.frames.begin(), stack.frames.end(), is_library), 1);
}

TEST_F(WalkerTest, NoNativeFrameOfALoopIsLeft) {
  Captured with;
  Captured without;
  const auto capture = [](Captured* stack) { *stack = CaptureHere(); };
  for (Captured* stack : {&with, &without}) {
    const ToyFrame* const kept = toy_frame;
    RunToyLoop(kMain, 1, [&] {
      if (stack == &without) toy_frame = nullptr;
      capture(stack);
    });
    toy_frame = kept;
  }
  EXPECT_EQ(Shape(without), Shapes{"-"});
  EXPECT_EQ(with.frames.size(), without.frames.size());
}

TEST_F(WalkerTest, AThreadThatRunsNoneHasNativeFramesAlone) {
  Captured stack;
  RunToyLoop(kMain, 1, [&] { std::thread([&] { stack = CaptureHere(); }).join(); });
  EXPECT_EQ(Shape(stack), Shapes{"-"});
}

TEST_F(WalkerTest, ManagedCallsStandAmongThem) {
  static const ManagedFunction marked = RegisterManagedFunction("marked", "m.ml", 3);
  Captured stack;
  RunToyLoop(kMain, 1, [&] {
    const ManagedCall call(marked);
    RunToyLoop(kFold, 12, [&] { stack = CaptureHere(); });
  });
  EXPECT_EQ(Shape(stack),
            (Shapes{"-", "fold list.t:12", "marked m.ml:3", "-", "main toy.t:1", "-"}));
}

TEST_F(WalkerTest, HiddenFramesAreLeftOutWithTheirLoop) {
  static const ToyCode hidden = {"trampoline", "toy.t", 1, true};
  Captured stack;
  RunToyLoop(kMain, 1, [&] { RunToyLoop(hidden, 1, [&] { stack = CaptureHere(); }); });
  EXPECT_EQ(Shape(stack), (Shapes{"-", "main toy.t:1", "-"}));
}

TEST_F(WalkerTest, CodeThatWentAwayIsAnotherWhenItsIdentityComesBack) {
  ToyCode code = {"first", "a.t", 1};
  const auto run = [&code] {
    Captured stack;
    RunToyLoop(code, 5, [&] { stack = CaptureHere(); });
    return Shape(stack)[1];
  };
  EXPECT_EQ(run(), "first a.t:5");
  allomon_interpreter_forget(reinterpret_cast<uintptr_t>(&code));
  code = {"second", "b.t", 4};
  EXPECT_EQ(run(), "second b.t:5");
}

TEST_F(WalkerTest, ThePlacesOfEqualNamesAreOneFunction) {
  const ToyCode once = {"lambda", "c.t", 7};
  const ToyCode again = {"lambda", "c.t", 7};
  const auto frames_of = [](const ToyCode& code) {
    Captured stack;
    RunToyLoop(code, 8, [&] { stack = CaptureHere(); });
    return stack.frames;
  };
  const std::vector<uintptr_t> first = frames_of(once);
  const std::vector<uintptr_t> second = frames_of(again);
  ManagedFunctionName name = {};
  const auto interpreted = std::find_if(first.begin(), first.end(), [&](uintptr_t frame) {
    return FindManagedFunction(frame, &name);
  });
  ASSERT_NE(interpreted, first.end());
  EXPECT_NE(std::find(second.begin(), second.end(), *interpreted), second.end());
}

TEST_F(WalkerTest, SymbolsKnowTheFunctionNotTheLine) {
  Captured stack;
  RunToyLoop(kFold, 17, [&] { stack = CaptureHere(); });
  const auto symbols = ProcessSymbols::Load();
  std::vector<std::string> found;
  for (const uintptr_t frame : stack.frames) {
    const Symbol symbol = symbols->Resolve(frame - 1);
    if (symbol.module == "[managed]") found.push_back(symbol.name + " " + symbol.position);
  }
  EXPECT_EQ(found, Shapes{"fold list.t: 10"});
}

TEST_F(WalkerTest, ABrokenChainEndsInUnknownAndIsCounted) {
  const uint64_t before = Statistics().lost;
  Captured stack;
  const ToyFrame* const kept = toy_frame;
  toy_frame = &kBrokenFrame;
  RunToyLoop(kFold, 13, [&] { stack = CaptureHere(); });
  toy_frame = kept;
  EXPECT_EQ(Shape(stack), (Shapes{"-", "fold list.t:13", "(unknown) :0", "-"}));
  EXPECT_EQ(Statistics().lost, before + 1);
}

TEST_F(WalkerTest, AChainThatIsBrokenAtOnceLeavesTheNativeFramesWhereTheyAre) {
  const ToyFrame* const kept = toy_frame;
  toy_frame = &kBrokenFrame;
  const Captured stack = CaptureHere();
  toy_frame = kept;
  EXPECT_EQ(Shape(stack), (Shapes{"-", "(unknown) :0"}));
}

TEST_F(WalkerTest, AChainWithoutEndIsCut) {
  ToyFrame circle = {&kFold, 1, nullptr, nullptr};
  circle.caller = &circle;
  int here = 0;
  circle.loop = &here;
  const ToyFrame* const kept = toy_frame;
  toy_frame = &circle;
  const Captured stack = CaptureHere(100);
  toy_frame = kept;
  EXPECT_EQ(stack.frames.size(), 100u);
  EXPECT_TRUE(stack.truncated);
}

TEST_F(WalkerTest, ACutStackIsThePrefixOfTheWholeOne) {
  const auto capture = [](size_t max_frames) {
    Captured stack;
    RunToyLoop(kMain, 3, [&] {
      RunToyLoop(kFold, 14,
                 [&] { RunInToyLoop(kMap, 24, [&] { stack = CaptureHere(max_frames); }); });
    });
    return stack;
  };
  // One place in the code, so that the native frames are the same ones.
  std::vector<Captured> stacks;
  for (size_t i = 0; i < 30; ++i) stacks.push_back(capture(i == 0 ? 1000 : i));
  for (size_t i = 1; i < stacks.size(); ++i) {
    const size_t room = std::min(i, stacks[0].frames.size());
    ASSERT_EQ(stacks[i].frames.size(), room);
    EXPECT_TRUE(
        std::equal(stacks[i].frames.begin(), stacks[i].frames.end(), stacks[0].frames.begin()));
    EXPECT_EQ(stacks[i].truncated, i < stacks[0].frames.size()) << i;
  }
}

TEST_F(WalkerTest, LongNamesAreCut) {
  const ToyCode code = {std::string(5000, 'n'), std::string(5000, 'f'), 1};
  Captured stack;
  RunToyLoop(code, 2, [&] { stack = CaptureHere(); });
  EXPECT_EQ(Shape(stack)[1], std::string(1024, 'n') + " " + std::string(2048, 'f') + ":2");
}

TEST_F(WalkerTest, ManyThreadsMeetTheSameNewPlaces) {
  constexpr int kThreads = 4;
  constexpr uint32_t kLines = 2000;
  std::vector<uintptr_t> found[kThreads];
  std::vector<std::thread> threads;
  for (auto& of_thread : found) {
    threads.emplace_back([&of_thread] {
      for (uint32_t line = 100; line < 100 + kLines; ++line) {
        uintptr_t frames[64];
        RunToyLoop(kMap, line, [&] {
          bool truncated = false;
          const size_t count = CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, 64, &truncated);
          ManagedFunctionName name;
          for (size_t i = 0; i < count; ++i) {
            if (FindManagedFunction(frames[i], &name)) of_thread.push_back(frames[i]);
          }
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(found[0].size(), kLines);
  for (const auto& of_thread : found) EXPECT_EQ(of_thread, found[0]);
}

TEST_F(WalkerTest, WhatIsMissingIsRefused) {
  allomon_interpreter none = ALLOMON_INTERPRETER_DEFAULTS;
  EXPECT_EQ(allomon_interpreter_register(&none), ALLOMON_INVALID_ARGUMENT);
  EXPECT_EQ(allomon_interpreter_register(nullptr), ALLOMON_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace allomon
