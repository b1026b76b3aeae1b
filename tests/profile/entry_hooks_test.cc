// Unchanged functions, compiled with room for a hook.
#include "tracker/profile/hooks/entry_hooks.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/profile/hooked.h"
#include "tests/support/in_child.h"
#include "tests/support/profile_bytes.h"
#include "tracker/base/signal_frame.h"
#include "tracker/profile/control/snapshot.h"
#include "tracker/profile/profile.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon {
namespace {

using testing::Attributed;
using testing::CountOf;

// Hooks are installed once, while there is one thread: each test has a process of its own.
using testing::InChild;

ProfileOptions Options(ProfileKind kind, ProfileStyle style = ProfileStyle::kCurrent) {
  ProfileOptions options;
  options.kind = kind;
  options.style = style;
  return options;
}

struct Counted {
  int64_t current;
  int64_t stack;
  bool operator==(Counted other) const { return current == other.current && stack == other.stack; }
  friend std::ostream& operator<<(std::ostream& out, Counted c) {
    return out << c.current << " current, " << c.stack << " stack";
  }
};

Counted Of(const NamedProfile& profile, const std::string& function) {
  for (size_t i = 0; i < profile.sources.names.size(); ++i) {
    const std::string& name = profile.sources.names[i].name;
    if (name.rfind("hooked::" + function + "(", 0) != 0) continue;
    const MlmonCount& count = profile.mlmon.masters[i];
    return {static_cast<int64_t>(count.current), static_cast<int64_t>(count.stack)};
  }
  return {-1, -1};
}

// Checks the invariants that the reference demands of every file.
void ExpectInvariants(const Mlmon& mlmon) {
  MlmonInt sum = 0;
  for (const MlmonCount& count : mlmon.masters) {
    sum += count.current;
    EXPECT_TRUE(count.stack <= mlmon.total);
    if (mlmon.style != ProfileStyle::kStack) continue;
    EXPECT_TRUE(count.current <= count.stack);
  }
  EXPECT_TRUE(sum == mlmon.total + mlmon.total_gc);
}

template <typename Run>
NamedProfile Profiled(const ProfileOptions& options, Run run) {
  const absl::Status started = Profile::Start(options);
  EXPECT_TRUE(started.ok()) << started;
  run();
  EXPECT_TRUE(Profile::Stop().ok());
  NamedProfile profile = Attributed();
  ExpectInvariants(profile.mlmon);
  return profile;
}

template <typename Run>
NamedProfile CountStacks(Run run) {
  return Profiled(Options(ProfileKind::kCount, ProfileStyle::kStack), run);
}

TEST(EntryHooksTest, EveryCallIsCountedInBothStyles) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const NamedProfile profile = Profiled(Options(ProfileKind::kCount, style), [] {
        for (int i = 0; i < 1000; ++i) hooked::CallsTwice(hooked::Leaf);
      });
      EXPECT_EQ(Of(profile, "CallsTwice").current, 1000);
      EXPECT_EQ(Of(profile, "Leaf").current, 3000);
      EXPECT_EQ(Of(profile, "Throws").current, 0);
      EXPECT_TRUE(profile.mlmon.total == 4000);
      EXPECT_TRUE(profile.self_described);
    });
  }
}

TEST(EntryHooksTest, CalleesAreOnTheStackOfTheirCallersOnly) {
  InChild([] {
    const NamedProfile profile = CountStacks([] {
      hooked::CallsTwice(hooked::Leaf);
      hooked::Leaf();
    });
    EXPECT_EQ(Of(profile, "CallsTwice"), (Counted{1, 4}));
    EXPECT_EQ(Of(profile, "Leaf"), (Counted{4, 4}));
  });
}

// Checks inv.entry.nothing.
TEST(EntryHooksTest, RecursionCountsOnce) {
  InChild([] {
    static ptrdiff_t entries = 0;  // of the shadow stack, at the bottom of the recursion
    const NamedProfile profile = CountStacks([] {
      hooked::Recurse(9, [] {
        entries = internal::thread_profile.top - internal::thread_profile.bottom;
        hooked::Leaf();
      });
    });
    EXPECT_EQ(entries, 1);
    EXPECT_EQ(Of(profile, "Recurse"), (Counted{10, 11}));
    EXPECT_EQ(Of(profile, "Leaf"), (Counted{1, 1}));
  });
}

// Deeper than the shadow stack's initial size, and than any unwinder goes.
TEST(EntryHooksTest, DeepRecursion) {
  InChild([] {
    const NamedProfile profile = CountStacks([] { hooked::Recurse(50000, hooked::Leaf); });
    EXPECT_EQ(Of(profile, "Recurse"), (Counted{50001, 50002}));
  });
}

TEST(EntryHooksTest, TailCallStaysOneAndTakesItsCallerOffTheStack) {
  InChild([] {
    const NamedProfile profile = CountStacks([] { EXPECT_EQ(hooked::TailCalls(3), 7); });
    EXPECT_EQ(Of(profile, "TailCalls"), (Counted{1, 1}));
    EXPECT_EQ(Of(profile, "TailCalled"), (Counted{1, 1}));
  });
}

TEST(EntryHooksTest, ExceptionTakesFunctionsOffTheStack) {
  InChild([] {
    const NamedProfile profile = CountStacks([] { EXPECT_EQ(hooked::Catches(), 1); });
    EXPECT_EQ(Of(profile, "Throws"), (Counted{1, 2}));
    EXPECT_EQ(Of(profile, "Catches"), (Counted{1, 4}));
  });
}

TEST(EntryHooksTest, LongjmpTakesFunctionsOffTheStack) {
  InChild([] {
    const NamedProfile profile = CountStacks([] { EXPECT_EQ(hooked::CatchesJump(), 1); });
    EXPECT_EQ(Of(profile, "Jumps"), (Counted{1, 2}));
    EXPECT_EQ(Of(profile, "CatchesJump"), (Counted{1, 4}));
  });
}

// The callee's frame lies below that of a function that has already returned.
TEST(EntryHooksTest, CallWithArgumentsOnTheStackIsNotMadeByWhatWasCalledBefore) {
  InChild([] {
    const NamedProfile profile =
        CountStacks([] { EXPECT_EQ(hooked::CallsManyArguments(), 1 + 20 + 18 + 700 + 8); });
    EXPECT_EQ(Of(profile, "Leaf"), (Counted{1, 1}));
    EXPECT_EQ(Of(profile, "CallsManyArguments"), (Counted{1, 3}));
  });
}

TEST(EntryHooksTest, ArgumentsInVectorRegistersSurvive) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      Profiled(Options(ProfileKind::kCount, style),
               [] { EXPECT_EQ(hooked::TakesDoubles(1.5, 4, 0.25f), 6.25); });
    });
  }
}

TEST(EntryHooksTest, ArgumentsInAllRegistersSurvive) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const NamedProfile profile = Profiled(Options(ProfileKind::kCount, style), [] {
        for (int i = 0; i < 3; ++i) {
          hooked::Leaf();  // of style stack, the next function then does not take the short way
          const hooked::Sums sums = hooked::TakesAllRegisters(1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5,
                                                              3.5, 4.5, 5.5, 6.5, 7.5);
          for (int n = 0; n < 8; ++n) {
            EXPECT_EQ(sums.integers[n], n + 1);
            EXPECT_EQ(sums.doubles[n], n + 0.5);
          }
        }
      });
      EXPECT_EQ(Of(profile, "TakesAllRegisters").current, 3);
    });
  }
}

// The handler runs on another stack, whose addresses say nothing about the interrupted one.
TEST(EntryHooksTest, SignalHandlerOnItsOwnStackLeavesTheInterruptedStackAlone) {
  InChild([] {
    static char stack[65536];
    stack_t other = {};
    other.ss_sp = stack;
    other.ss_size = sizeof(stack);
    ASSERT_EQ(sigaltstack(&other, nullptr), 0);
    struct sigaction action = {};
    action.sa_handler = hooked::HandleSignal;
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    const NamedProfile profile = CountStacks([] { hooked::CallsTwice([] { raise(SIGUSR1); }); });
    EXPECT_EQ(Of(profile, "HandleSignal").current, 2);
    EXPECT_EQ(Of(profile, "CallsTwice"), (Counted{1, 4}));
  });
}

volatile bool ticked;
volatile uint32_t ticks_function;

// The function to which a tick of a time profile would be charged.
void Tick(int, siginfo_t*, void* context) {
  const FrameState interrupted = internal::InterruptedFrame(context);
  const internal::BusyScope busy;
  ticks_function = internal::RunningFunction(internal::thread_profile, interrupted);
  ticked = true;
}

// A leaf that has returned leaves its return address in a register of 64-bit Arm.
TEST(EntryHooksTest, TickIsChargedToTheFunctionThatItInterrupts) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer holds signals back until the next call that it knows";
#endif
  using Loop = void (*)(const volatile bool*);
  const std::pair<const char*, Loop> loops[] = {
    {"LoopsInLeaf", hooked::LoopsInLeaf},
    {"LoopsInLeafWithFrame", hooked::LoopsInLeafWithFrame},
    {"LoopsAfterLeaf", hooked::LoopsAfterLeaf},
#if defined(__aarch64__)
    // On x86-64 the leaf's return address is still in its place there, so the leaf is charged.
    {"LoopsBelowLeaf", hooked::LoopsBelowLeaf},
#endif
  };
  for (const auto& [name, loop] : loops) {
    InChild([name = name, loop = loop] {
      struct sigaction action = {};
      action.sa_sigaction = Tick;
      action.sa_flags = SA_SIGINFO;
      ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
      const NamedProfile profile = CountStacks([loop] {
        // So long after the call the loop surely runs.
        const itimerval soon = {{0, 0}, {0, 50'000}};
        ASSERT_EQ(setitimer(ITIMER_REAL, &soon, nullptr), 0);
        loop(&ticked);
      });
      ASSERT_LT(ticks_function, profile.sources.names.size());
      const std::string charged = profile.sources.names[ticks_function].name;
      EXPECT_EQ(charged.rfind(std::string("hooked::") + name + "(", 0), 0u) << charged;
    });
  }
}

TEST(EntryHooksTest, ThreadsCountForThemselvesAndAddUp) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const NamedProfile profile = Profiled(Options(ProfileKind::kCount, style), [] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 16; ++i) {
          threads.emplace_back([] {
            for (int j = 0; j < 10000; ++j) hooked::Recurse(3, hooked::Leaf);
          });
        }
        for (std::thread& thread : threads) thread.join();
      });
      EXPECT_EQ(Of(profile, "Recurse").current, 16 * 10000 * 4);
      EXPECT_EQ(Of(profile, "Leaf").current, 16 * 10000);
      const bool stacks = style == ProfileStyle::kStack;
      EXPECT_EQ(Of(profile, "Recurse").stack, stacks ? 16 * 10000 * 5 : 0);
    });
  }
}

TEST(EntryHooksTest, StoppedProfileStandsStillAndGoesOn) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const ProfileOptions options = Options(ProfileKind::kCount, style);
      Profiled(options, [] { hooked::Leaf(); });
      hooked::Leaf();
      EXPECT_EQ(Of(Attributed(), "Leaf").current, 1);
      EXPECT_EQ(Of(Profiled(options, [] { hooked::Leaf(); }), "Leaf").current, 2);
    });
  }
}

// The thread got its counts before the hooks counted, and has no register that points to them.
TEST(EntryHooksTest, ThreadThatWasAttachedBeforeCounts) {
  InChild([] {
    const ProfileData unit = Profile::Malloc().value();
    ASSERT_TRUE(Profile::WithData(unit, hooked::Leaf).ok());
    const NamedProfile profile =
        Profiled(Options(ProfileKind::kCount), [] { hooked::CallsTwice(hooked::Leaf); });
    EXPECT_EQ(Of(profile, "Leaf").current, 3);
  });
}

TEST(EntryHooksTest, UnitsOfDataAreSwitched) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const ProfileData unit = Profile::Malloc().value();
      const NamedProfile outside = Profiled(Options(ProfileKind::kCount, style), [&] {
        hooked::Leaf();
        ASSERT_TRUE(Profile::WithData(unit, [] { hooked::CallsTwice(hooked::Leaf); }).ok());
        hooked::Leaf();
      });
      EXPECT_EQ(Of(outside, "Leaf").current, 2);
      EXPECT_EQ(Of(outside, "CallsTwice").current, 0);
      EXPECT_EQ(Of(Attributed(unit), "Leaf").current, 3);
      EXPECT_EQ(Of(Attributed(unit), "CallsTwice").current, 1);
    });
  }
}

// Functions below withData are not on the stack of the inner unit, and leaving them later
// must not take anything away from it.
TEST(EntryHooksTest, FunctionsBelowASwitchKeepTheirOwnUnit) {
  InChild([] {
    static ProfileData unit;
    unit = Profile::Malloc().value();
    const NamedProfile outside = CountStacks([] {
      hooked::Recurse(2, [] { Profile::WithData(unit, hooked::Leaf).IgnoreError(); });
      hooked::Leaf();
    });
    EXPECT_EQ(Of(outside, "Recurse"), (Counted{3, 3}));
    EXPECT_EQ(Of(Attributed(unit), "Recurse"), (Counted{0, 0}));
    EXPECT_EQ(Of(Attributed(unit), "Leaf"), (Counted{1, 1}));
  });
}

// Call stacks are charged: of style current, hooks stay no-ops.
TEST(EntryHooksTest, BytesAreChargedExactlyInBothStyles) {
  for (const ProfileStyle style : {ProfileStyle::kCurrent, ProfileStyle::kStack}) {
    InChild([style] {
      const NamedProfile profile = Profiled(Options(ProfileKind::kAlloc, style), [] {
        for (int i = 0; i < 100; ++i) {
          SamplingFree(hooked::Allocates(100));
          SamplingFree(hooked::AllocatesAfterCall(7));
        }
        SamplingFree(SamplingMalloc(3));
      });
      EXPECT_EQ(Of(profile, "Allocates").current, 10000);
      EXPECT_EQ(Of(profile, "AllocatesAfterCall").current, 700);
      EXPECT_EQ(Of(profile, "Leaf").current, 0);
      EXPECT_TRUE(CountOf(profile, "<main>").current == 3);
      if (style == ProfileStyle::kCurrent) {
        EXPECT_EQ(internal::CurrentHookMode(), internal::HookMode::kNone);
      } else {
        EXPECT_EQ(Of(profile, "Allocates").stack, 10000);
        EXPECT_EQ(Of(profile, "AllocatesAfterCall").stack, 700);
        EXPECT_EQ(Of(profile, "Leaf").stack, 0);
        EXPECT_TRUE(CountOf(profile, "<main>").stack == 10703);
      }
    });
  }
}

// The bytes that a recursive function allocates at any depth are charged to it, and once to its
// stack; the bytes that its caller allocates before and after are not.
TEST(EntryHooksTest, BytesOfARecursionAreOnTheStackOnce) {
  InChild([] {
    const auto style = Options(ProfileKind::kAlloc, ProfileStyle::kStack);
    const NamedProfile profile = Profiled(style, [] {
      SamplingFree(hooked::Allocates(1));
      hooked::Recurse(9, [] { SamplingFree(hooked::Allocates(100)); });
      SamplingFree(hooked::Allocates(10));
    });
    EXPECT_EQ(Of(profile, "Recurse").stack, 100);
    EXPECT_EQ(Of(profile, "Allocates"), (Counted{111, 111}));
  });
}

TEST(EntryHooksTest, HooksAreRefusedWhileThereAreOtherThreads) {
  InChild([] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::thread waiting([&ends] {
      char byte;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
    });
    const absl::Status started = Profile::Start(Options(ProfileKind::kCount));
    EXPECT_EQ(started.code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(std::string(started.message()).find("one thread"), std::string::npos);
    EXPECT_FALSE(Profile::IsOn());
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    waiting.join();
    const absl::Status alone = Profile::Start(Options(ProfileKind::kCount));
    EXPECT_TRUE(alone.ok()) << alone;
  });
}

// The profile's own key is older, so its destructor runs first and takes the thread's counts.
TEST(EntryHooksTest, HookedKeyDestructorBehindTheEndOfItsThreadIsCounted) {
  InChild([] {
    const NamedProfile profile = Profiled(Options(ProfileKind::kCount, ProfileStyle::kStack), [] {
      static char profile_key_value;
      pthread_key_t key;
      ASSERT_EQ(pthread_key_create(&key, [](void*) { hooked::Leaf(); }), 0);
      std::thread([key] {
        hooked::Leaf();
        pthread_setspecific(key, &profile_key_value);
      }).join();
    });
    EXPECT_EQ(Of(profile, "Leaf").current, 2);
    ExpectInvariants(profile.mlmon);
  });
}

// The caller has been on the shadow stack since the previous profile, whose counts are cleared.
TEST(EntryHooksTest, FunctionThatStartsAProfileOfAnotherKindIsOnTheStackInIt) {
  InChild([] {
    ASSERT_TRUE(Profile::Start(Options(ProfileKind::kCount, ProfileStyle::kStack)).ok());
    static int calls = 0;
    hooked::CallsTwice([] {
      if (calls++ != 0) return;
      ASSERT_TRUE(Profile::Stop().ok());
      ASSERT_TRUE(Profile::Start(Options(ProfileKind::kAlloc, ProfileStyle::kStack)).ok());
      SamplingFree(hooked::Allocates(100));
    });
    ASSERT_TRUE(Profile::Stop().ok());
    const NamedProfile profile = Attributed();
    ExpectInvariants(profile.mlmon);
    EXPECT_EQ(Of(profile, "Allocates"), (Counted{100, 100}));
    EXPECT_EQ(Of(profile, "CallsTwice"), (Counted{0, 100}));
  });
}

// A function with a hook is not popped before the next one is entered, and by then the unit is
// another one.
TEST(EntryHooksTest, WhatReturnedBeforeItsUnitWasLeftIsNotOnTheStackWhenTheUnitIsBack) {
  InChild([] {
    const ProfileData unit = Profile::Malloc().value();
    ASSERT_TRUE(Profile::Start(Options(ProfileKind::kCount, ProfileStyle::kStack)).ok());
    ASSERT_TRUE(Profile::WithData(unit, [] { hooked::Leaf(); }).ok());
    ASSERT_TRUE(Profile::WithData(unit, [] { hooked::TailCalls(0); }).ok());
    ASSERT_TRUE(Profile::WithData(unit, [] { hooked::Leaf(); }).ok());
    ASSERT_TRUE(Profile::Stop().ok());
    const NamedProfile profile = Attributed(unit);
    ExpectInvariants(profile.mlmon);
    EXPECT_EQ(Of(profile, "Leaf"), (Counted{2, 2}));
  });
}

size_t AddressSpaceBytes() {
  size_t pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT_EQ(fscanf(file, "%zu", &pages), 1);
  fclose(file);
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The limit leaves room for a stack of 64 KiB, but not for counts of every function.
void* RunWithoutMemoryForCounts(void* (*routine)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  rlimit before = {};
  getrlimit(RLIMIT_AS, &before);
  const rlimit limit = {AddressSpaceBytes() + (1 << 20), before.rlim_max};
  setrlimit(RLIMIT_AS, &limit);
  pthread_t thread;
  void* result = nullptr;
  EXPECT_EQ(pthread_create(&thread, &attributes, routine, nullptr), 0);
  pthread_join(thread, &result);
  setrlimit(RLIMIT_AS, &before);
  return result;
}

TEST(EntryHooksTest, ThreadThatWasRefusedCountsCountsInTheCommonOnes) {
  InChild([] {
    void* had_counts = nullptr;
    const NamedProfile profile =
        Profiled(Options(ProfileKind::kCount, ProfileStyle::kStack), [&had_counts] {
          had_counts = RunWithoutMemoryForCounts([](void*) -> void* {
            hooked::Leaf();
            return internal::thread_profile.counts;
          });
        });
    EXPECT_EQ(had_counts, nullptr) << "the limit was too high for this test";
    EXPECT_EQ(Of(profile, "Leaf").current, 1);
  });
}

TEST(EntryHooksTest, TableHasNamesAndPositions) {
  const SourceTable table = SourceTableOf(internal::FunctionsOfProgram());
  for (const SourceName& name : table.names) {
    if (name.name != "hooked::Leaf()") continue;
    EXPECT_NE(name.position.find("tests/profile/hooked.cc: "), std::string::npos) << name.position;
    return;
  }
  ADD_FAILURE() << "hooked::Leaf() is missing";
}

}  // namespace
}  // namespace allomon
