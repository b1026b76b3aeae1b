// Managed frames: their positions among the native ones, and their ends.
#include "tracker/callstack/managed_functions.h"

#include <pthread.h>

#include <algorithm>
#include <csetjmp>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/callstack/capturing.h"
#include "tracker/callstack/capture.h"
#include "tracker/symbols/symbols.h"

namespace allomon {
namespace {

using testing::Captured;
using testing::CaptureHere;
using testing::IsIn;

const ManagedFunction kOuter = RegisterManagedFunction("outer", "test.ml", 1);
const ManagedFunction kInner = RegisterManagedFunction("inner", "test.ml", 22);
const ManagedFunction kThird = RegisterManagedFunction("third", "", 0);

using Body = const std::function<Captured()>&;

// Functions of an interpreter: native frames that hold a call.
__attribute__((noinline)) Captured Helper(Body body) {
  Captured result = body();
  asm volatile("" ::: "memory");  // no tail call
  return result;
}
__attribute__((noinline)) Captured Interpret(ManagedFunction function, Body body) {
  const ManagedCall call(function);
  return Helper(body);
}
__attribute__((noinline)) Captured InterpretTwice(Body body) {
  const ManagedCall outer(kOuter);
  Captured result;
  {
    const ManagedCall inner(kInner);
    result = Helper(body);
  }
  return result;
}
__attribute__((noinline)) Captured Recurse(int depth, size_t max_frames) {
  const ManagedCall call(depth % 2 == 0 ? kOuter : kInner);
  Captured result = depth == 0 ? CaptureHere(max_frames) : Recurse(depth - 1, max_frames);
  asm volatile("" ::: "memory");
  return result;
}

std::vector<uintptr_t> ManagedOf(const Captured& stack) {
  std::vector<uintptr_t> managed;
  ManagedFunctionName name;
  for (const uintptr_t frame : stack.frames) {
    if (FindManagedFunction(frame, &name)) managed.push_back(frame);
  }
  return managed;
}

using Addresses = std::vector<uintptr_t>;

TEST(ManagedFunctionsTest, FrameStandsDirectlyInsideTheFunctionThatHoldsTheCall) {
  const Captured stack =
      Interpret(kOuter, [] { return Interpret(kInner, [] { return CaptureHere(); }); });
  EXPECT_FALSE(stack.truncated);
  EXPECT_EQ(ManagedOf(stack), (Addresses{kInner.address(), kOuter.address()}));
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    const bool is_managed =
        stack.frames[i] == kInner.address() || stack.frames[i] == kOuter.address();
    ASSERT_EQ(is_managed, i + 1 < stack.frames.size() &&
                              IsIn(stack.frames[i + 1], reinterpret_cast<void*>(&Interpret)));
    if (is_managed) {
      EXPECT_TRUE(IsIn(stack.frames[i - 1], reinterpret_cast<void*>(&Helper)));
    }
  }
}

TEST(ManagedFunctionsTest, NativeFramesAreThoseOfAStackWithoutCalls) {
  const ManagedFunction functions[] = {ManagedFunction(), kOuter};
  std::vector<Captured> stacks;
  // A loop with one call site, whatever the compiler does with loops.
  volatile size_t n = 2;
  for (size_t i = 0; i < n; ++i) {
    stacks.push_back(Interpret(functions[i], [] { return CaptureHere(); }));
  }
  EXPECT_TRUE(ManagedOf(stacks[0]).empty());
  Addresses native = stacks[1].frames;
  native.erase(std::remove(native.begin(), native.end(), kOuter.address()), native.end());
  EXPECT_EQ(native, stacks[0].frames);
}

TEST(ManagedFunctionsTest, TwoCallsInOneNativeFunctionNest) {
  const Captured stack = InterpretTwice([] { return CaptureHere(); });
  ASSERT_EQ(ManagedOf(stack), (Addresses{kInner.address(), kOuter.address()}));
  const auto inner = std::find(stack.frames.begin(), stack.frames.end(), kInner.address());
  EXPECT_EQ(inner[1], kOuter.address());
  EXPECT_TRUE(IsIn(inner[2], reinterpret_cast<void*>(&InterpretTwice)));
}

TEST(ManagedFunctionsTest, RecursionHasOneFrameForEachCall) {
  const Captured stack = Recurse(9, 1000);
  ASSERT_GE(stack.frames.size(), 20u);
  for (size_t i = 0; i < 20; i += 2) {
    EXPECT_EQ(stack.frames[i], (i % 4 == 0 ? kOuter : kInner).address());
    EXPECT_TRUE(IsIn(stack.frames[i + 1], reinterpret_cast<void*>(&Recurse)));
  }
}

TEST(ManagedFunctionsTest, CutStackIsThePrefixOfTheWholeOne) {
  const Captured whole = Recurse(20, 1000);
  for (size_t max_frames = 0; max_frames <= whole.frames.size(); ++max_frames) {
    const Captured cut = Recurse(20, max_frames);
    // The frames beyond Recurse() belong to other calls in this function.
    const size_t same = std::min<size_t>(max_frames, 42);
    ASSERT_EQ(cut.frames.size(), max_frames);
    EXPECT_TRUE(std::equal(cut.frames.begin(), cut.frames.begin() + static_cast<ptrdiff_t>(same),
                           whole.frames.begin()));
    EXPECT_EQ(cut.truncated, max_frames < whole.frames.size());
  }
}

// A caller may cache its result for a stack by the stack's serial.  A stack with managed calls must
// have no serial, because its managed calls may change while its native frames do not.
TEST(ManagedFunctionsTest, StackWithManagedFramesHasNoSerial) {
  struct Capture {
    static __attribute__((noinline)) uint64_t Serial() {
      uintptr_t frames[64];
      bool truncated = false;
      uint64_t serial = 1;
      CaptureCallstackWithSerial(ALLOMON_CALLER_FRAME(), frames, 64, &truncated, &serial);
      return serial;
    }
  };
  for (int i = 0; i < 5; ++i) {
    const ManagedCall call(i % 2 == 0 ? kOuter : kInner);
    EXPECT_EQ(Capture::Serial(), 0u);
  }
}

TEST(ManagedFunctionsTest, ExceptionsEndCalls) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(
        Interpret(kOuter,
                  []() -> Captured { return Interpret(kInner, []() -> Captured { throw 1; }); }),
        int);
    EXPECT_TRUE(ManagedOf(CaptureHere()).empty());
    EXPECT_EQ(ManagedOf(Recurse(0, 100)), Addresses{kOuter.address()});
  }
}

std::jmp_buf g_jump;

__attribute__((noinline)) void LeapFrom(int depth) {
  const ManagedCall call(kInner);
  if (depth > 0) LeapFrom(depth - 1);
  if (depth == 0) longjmp(g_jump, 1);  // NOLINT: longjmp is tested here
}

TEST(ManagedFunctionsTest, LongjmpIsMadeGoodByAMark) {
  const ManagedCallMark mark;
  if (setjmp(g_jump) == 0) LeapFrom(30);  // NOLINT
  mark.CutBack();
  EXPECT_FALSE(internal::HasManagedCalls());
}

// Without a mark, the next call drops the calls of inner frames that longjmp has left.
TEST(ManagedFunctionsTest, NextCallDropsWhatLongjmpHasLeft) {
  const ManagedCallMark mark;
  if (setjmp(g_jump) == 0) LeapFrom(30);  // NOLINT
  EXPECT_TRUE(internal::HasManagedCalls());
  {
    const ManagedCall call(kThird);
    const Addresses managed = ManagedOf(CaptureHere());
    EXPECT_EQ(managed, Addresses{kThird.address()});
  }
  EXPECT_FALSE(internal::HasManagedCalls());
  mark.CutBack();
}

TEST(ManagedFunctionsTest, ThreadsHaveCallsOfTheirOwn) {
  const ManagedCall call(kOuter);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      EXPECT_TRUE(ManagedOf(CaptureHere()).empty());
      for (int i = 0; i < 200; ++i) {
        const Captured stack = Recurse(t * 5, 1000);
        ASSERT_EQ(ManagedOf(stack).size(), static_cast<size_t>(t * 5 + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ManagedOf(CaptureHere()), Addresses{kOuter.address()});
}

pthread_key_t g_keys[2];  // one made before the library's own key, one after

void CallInManagedFunction(void*) {
  const ManagedCall call(RegisterManagedFunction("late", "late.ml", 1));
}

struct CallsWhenItDies {
  ~CallsWhenItDies() { CallInManagedFunction(nullptr); }
  bool touched = false;
};

size_t AddressSpacePages() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// Guards against a former defect: each thread leaked 16 MiB of addresses.
TEST(ManagedFunctionsTest, CallsInAThreadsLastDestructorsLeaveNothingMapped) {
  ASSERT_EQ(pthread_key_create(&g_keys[1], CallInManagedFunction), 0);
  const auto run_thread = [] {
    std::thread([] {
      static thread_local CallsWhenItDies dies_after_calls;
      dies_after_calls.touched = true;
      CallInManagedFunction(nullptr);
      for (const pthread_key_t key : g_keys) pthread_setspecific(key, &g_keys);
    }).join();
  };
  run_thread();
  const size_t before = AddressSpacePages();
  for (int i = 0; i < 20; ++i) run_thread();
  EXPECT_LT(AddressSpacePages(), before + 10 * 4096);
}

__attribute__((constructor(101))) void MakeFirstKey() {
  pthread_key_create(&g_keys[0], CallInManagedFunction);
}

// Calls that exceed the room are not recorded, and their ends change nothing.  (All in one frame: a
// million native frames are too many for a sanitizer.)
TEST(ManagedFunctionsTest, DeeperThanThereIsRoom) {
  constexpr size_t kRoom = size_t{1} << 20;
  struct alignas(ManagedCall) Place {
    char bytes[sizeof(ManagedCall)];
  };
  std::vector<Place> places(kRoom + 1000);
  const auto call_at = [&places](size_t i) {
    return std::launder(reinterpret_cast<ManagedCall*>(&places[i]));
  };
  for (size_t i = 0; i < places.size(); ++i) {
    ::new (&places[i]) ManagedCall(i < kRoom ? kOuter : kInner);
  }
  EXPECT_EQ(ManagedOf(CaptureHere(10)).back(), kOuter.address());
  EXPECT_EQ(ManagedOf(CaptureHere(10)).front(), kOuter.address()) << "kInner had no room";
  for (size_t i = places.size(); i-- > 1;) call_at(i)->~ManagedCall();
  EXPECT_EQ(ManagedOf(CaptureHere()), Addresses{kOuter.address()});
  call_at(0)->~ManagedCall();
  EXPECT_FALSE(internal::HasManagedCalls());
}

TEST(ManagedFunctionsTest, NamesAreFoundByAddressAndByTheByteBefore) {
  ManagedFunctionName name;
  for (const uintptr_t address : {kInner.address(), kInner.address() - 1}) {
    ASSERT_TRUE(FindManagedFunction(address, &name));
    EXPECT_EQ(name.name, "inner");
    EXPECT_EQ(name.file, "test.ml");
    EXPECT_EQ(name.line, 22);
    EXPECT_EQ(name.address, kInner.address());
  }
  EXPECT_FALSE(FindManagedFunction(0, &name));
  EXPECT_FALSE(FindManagedFunction(UINTPTR_MAX, &name));
  EXPECT_FALSE(FindManagedFunction(reinterpret_cast<uintptr_t>(&LeapFrom), &name));
  EXPECT_FALSE(FindManagedFunction(kInner.address() + (1 << 20), &name)) << "not registered yet";
}

TEST(ManagedFunctionsTest, SymbolsKnowThem) {
  const auto symbols = ProcessSymbols::Load();
  const Symbol symbol = symbols->Resolve(kInner.address() - 1);
  EXPECT_EQ(symbol.name, "inner");
  EXPECT_EQ(symbol.position, "test.ml: 22");
  EXPECT_EQ(symbol.module, "[managed]");
  EXPECT_TRUE(symbol.named);
  EXPECT_EQ(symbol.function_start, symbols->FunctionStart(kInner.address() - 1));
}

TEST(ManagedFunctionsTest, ThreadsRegisterAtOnce) {
  constexpr int kEach = 2000;
  std::vector<ManagedFunction> functions[4];
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &functions] {
      for (int i = 0; i < kEach; ++i) {
        functions[t].push_back(
            RegisterManagedFunction("f" + std::to_string(t) + "." + std::to_string(i), "file", i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < kEach; ++i) {
      ManagedFunctionName name;
      ASSERT_TRUE(FindManagedFunction(functions[t][static_cast<size_t>(i)].address(), &name));
      ASSERT_EQ(name.name, "f" + std::to_string(t) + "." + std::to_string(i));
      ASSERT_EQ(name.line, i);
    }
  }
}

TEST(ManagedFunctionsTest, NoRoomGivesNoneAndItsCallsAreNotSeen) {
  const ManagedFunction none = RegisterManagedFunction(std::string(65 << 20, 'x'), "f", 1);
  EXPECT_FALSE(none);
  EXPECT_TRUE(ManagedOf(Interpret(none, [] { return CaptureHere(); })).empty());
}

}  // namespace
}  // namespace allomon
