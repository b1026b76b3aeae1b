// Profiles of a managed heap by function: bytes are charged where functions begin and end,
// and must add up to the heap's own counters, whatever happens in between.
#include <atomic>
#include <csetjmp>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "tests/support/profile_bytes.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/profile.h"

namespace allomon::gc {
namespace {

using testing::Attributed;
using testing::CountOf;

struct Cell {
  long value;
  Field<Cell> next;
};
constexpr int64_t kCellBytes = 24;  // with its header

const ManagedFunction kBuild = RegisterManagedFunction("build", "list.ml", 3);
const ManagedFunction kSmall = RegisterManagedFunction("small", "list.ml", 7);
const ManagedFunction kLarge = RegisterManagedFunction("large", "list.ml", 9);
const ManagedFunction kOpen = RegisterManagedFunction("open", "list.ml", 11);

Local<Cell> Build(int n) {
  const ManagedCall call(kBuild);
  Local<Cell> list;
  for (int i = 0; i < n; ++i) list = make<Cell>(i, list);
  return list;
}

void Small() {
  const ManagedCall call(kSmall);
  make<Cell>(0, nullptr);
  Build(2);
  make<Cell>(0, nullptr);
}

void Recursive(int depth) {
  const ManagedCall call(kSmall);
  make<Cell>(0, nullptr);
  if (depth > 1) Recursive(depth - 1);
  make<Cell>(0, nullptr);
}

void Scope() {
  ALLOMON_FUNCTION();
  make<Cell>(0, nullptr);
  Small();
  make<Cell>(0, nullptr);
}

void ThrowFrom(int depth) {
  const ManagedCall call(depth % 2 == 0 ? kSmall : kBuild);
  make<Cell>(0, nullptr);
  if (depth == 0) throw 1;
  ThrowFrom(depth - 1);
}

class ManagedProfileTest : public ::testing::Test {
 protected:
  void SetUp() override { before_ = heap_->statistics(); }
  void TearDown() override {
    Profile::Stop().IgnoreError();
    EXPECT_TRUE(unit_.Restore().ok());
    EXPECT_TRUE(Profile::Free(data_).ok());
  }

  static void Start(ProfileStyle style = ProfileStyle::kCurrent,
                    ProfileKind kind = ProfileKind::kAlloc) {
    ProfileOptions options;
    options.kind = kind;
    options.style = style;
    ASSERT_TRUE(Profile::Start(options).ok());
  }

  // Stops, and compares with what the heap has counted since the test began.
  AttributedProfile StopAndCompare() {
    EXPECT_TRUE(Profile::Stop().ok());
    const HeapStatistics after = heap_->statistics();
    AttributedProfile profile = Attributed(data_);
    const auto words = [](uint64_t now, uint64_t then) { return 8 * MlmonInt(now - then); };
    EXPECT_TRUE(profile.mlmon.total == words(after.allocated_words, before_.allocated_words));
    EXPECT_TRUE(profile.mlmon.total_gc == words(after.promoted_words, before_.promoted_words));
    return profile;
  }
  static int64_t Bytes(const AttributedProfile& profile, const char* function) {
    return static_cast<int64_t>(CountOf(profile, function).current);
  }

  std::unique_ptr<Heap> heap_ = Heap::Create().value();
  Mutator mutator_{*heap_};
  HeapStatistics before_;
  const ProfileData data_ = Profile::Malloc().value();
  ScopedProfileData unit_{data_};
};

TEST_F(ManagedProfileTest, EachFunctionHasWhatItAllocated) {
  Start();
  for (int i = 0; i < 1000; ++i) Small();
  make<Cell>(0, nullptr);
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 2000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 2000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
}

// Clocks, not samples: the allocations take no slow path.
TEST_F(ManagedProfileTest, NothingIsSampledForIt) {
  Start();
  make<Cell>(0, nullptr);
  const uintptr_t limit = internal::t_window.limit.load();
  make<Cell>(0, nullptr);
  EXPECT_GE(limit - internal::t_window.cursor, 1000 * kCellBytes);
  StopAndCompare();
}

TEST_F(ManagedProfileTest, ScopesAndManagedCallsNest) {
  Start();
  for (int i = 0; i < 10; ++i) Scope();
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 20 * kCellBytes);
}

TEST_F(ManagedProfileTest, FunctionThatCallsItself) {
  Start(ProfileStyle::kStack);
  Build(1);
  Recursive(100);
  Build(1);
  const AttributedProfile profile = StopAndCompare();
  EXPECT_TRUE(CountOf(profile, "small").current == 200 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "small").stack == 200 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "build").stack == 2 * kCellBytes);
}

// The nurseries are emptied again and again, what survives is moved.
TEST_F(ManagedProfileTest, CollectionsInTheMiddleOfFunctions) {
  Start();
  {
    const ManagedCall call(kSmall);
    const Local<Cell> list = Build(300000);
    for (int i = 0; i < 300000; ++i) make<Cell>(i, list);
    heap_->Collect(CollectionKind::kMajor);
  }
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 300000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 300000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<gc>"), 300000 * kCellBytes);
}

TEST_F(ManagedProfileTest, LargeObjects) {
  Start();
  {
    const ManagedCall call(kLarge);
    make_bytes(1 << 20);
  }
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "large"), (1 << 20) + 16);  // header and length
}

// They are not in the heap's counters.
TEST_F(ManagedProfileTest, OutOfHeapBytes) {
  Start();
  {
    const ManagedCall call(kLarge);
    make_custom(nullptr, 1000, [](void*) {});
  }
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(Bytes(Attributed(data_), "large"), 24 + 1000);
}

TEST_F(ManagedProfileTest, ExceptionsEndCalls) {
  Start(ProfileStyle::kStack);
  EXPECT_THROW(ThrowFrom(9), int);
  make<Cell>(0, nullptr);
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 5 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 5 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
  EXPECT_TRUE(CountOf(profile, "build").stack == 10 * kCellBytes);
}

std::jmp_buf g_jump;

__attribute__((noinline)) void JumpFrom(int depth) {
  const ManagedCall call(depth % 2 == 0 ? kSmall : kBuild);
  make<Cell>(0, nullptr);
  if (depth > 0) JumpFrom(depth - 1);
  if (depth == 0) longjmp(g_jump, 1);  // NOLINT: what is tested
}

TEST_F(ManagedProfileTest, MarkThatIsCutBackToEndsCalls) {
  Start();
  const RootMark mark;
  if (setjmp(g_jump) == 0) JumpFrom(9);  // NOLINT
  mark.CutBack();
  make<Cell>(0, nullptr);
  Small();
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), (5 + 2) * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), (5 + 2) * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
}

TEST_F(ManagedProfileTest, CallsThatWereOpenBefore) {
  {
    ALLOMON_FUNCTION();
    const ManagedCall outer(kOpen);
    {
      const ManagedCall inner(kSmall);
      Start(ProfileStyle::kStack);
      make<Cell>(0, nullptr);
      Small();
    }
    make<Cell>(0, nullptr);
    Build(1);
  }
  make<Cell>(0, nullptr);
  const AttributedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 3 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "open"), kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").stack == 7 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "small").stack == 5 * kCellBytes);
}

TEST_F(ManagedProfileTest, StartedAndStoppedAgainAndAgain) {
  for (int i = 0; i < 10; ++i) {
    const ManagedCall call(kOpen);
    Start();
    Small();
    make<Cell>(0, nullptr);
    ASSERT_TRUE(Profile::Stop().ok());
  }
  const AttributedProfile profile = Attributed(data_);
  EXPECT_EQ(Bytes(profile, "open"), 10 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), 0);
}

// Not that of a function which was on the stack either, although its clock is read.
TEST_F(ManagedProfileTest, WhatIsAllocatedAfterAStopIsNobodys) {
  const ProfileData other = Profile::Malloc().value();
  Start(ProfileStyle::kStack);
  Small();
  const ManagedCall call(kOpen);
  make<Cell>(0, nullptr);
  ASSERT_TRUE(Profile::Stop().ok());
  make<Cell>(0, nullptr);
  EXPECT_TRUE(Profile::WithData(other, [] {}).ok());
  const AttributedProfile profile = Attributed(data_);
  EXPECT_TRUE(profile.mlmon.total == 5 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").current == kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").stack == kCellBytes);
  EXPECT_TRUE(Profile::Free(other).ok());
}

TEST_F(ManagedProfileTest, UnitsOfData) {
  const ProfileData other = Profile::Malloc().value();
  Start();
  {
    const ManagedCall call(kOpen);
    make<Cell>(0, nullptr);
    EXPECT_TRUE(Profile::WithData(other, [] { Small(); }).ok());
    make<Cell>(0, nullptr);
  }
  ASSERT_TRUE(Profile::Stop().ok());
  const AttributedProfile inner = Attributed(other);
  EXPECT_TRUE(inner.mlmon.total == 4 * kCellBytes);
  EXPECT_EQ(Bytes(inner, "small"), 2 * kCellBytes);
  const AttributedProfile outer = Attributed(data_);
  EXPECT_TRUE(outer.mlmon.total == 2 * kCellBytes);
  EXPECT_EQ(Bytes(outer, "open"), 2 * kCellBytes);
  EXPECT_TRUE(Profile::Free(other).ok());
}

TEST_F(ManagedProfileTest, WrittenWhileItRuns) {
  Start();
  const ManagedCall call(kOpen);
  make<Cell>(0, nullptr);
  EXPECT_EQ(Bytes(Attributed(data_), "open"), kCellBytes);
  make<Cell>(0, nullptr);
  EXPECT_EQ(Bytes(Attributed(data_), "open"), 2 * kCellBytes);
  StopAndCompare();
}

// Threads that end, threads that stand in native code when it stops, and collections by
// whoever comes first.
TEST_F(ManagedProfileTest, Threads) {
  EXPECT_TRUE(unit_.Restore().ok());  // threads begin in the default one
  Start();
  constexpr int kThreads = 8;
  std::atomic<int> standing{0};
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Mutator inner(*heap_);
      for (int i = 0; i < 5000; ++i) Scope();
      if (t % 2 == 0) return;
      const ManagedCall call(kOpen);
      make<Cell>(0, nullptr);
      const NativeRegion native;
      ++standing;
      while (!stopped) std::this_thread::yield();
    });
  }
  {
    const NativeRegion native;
    for (int t = 0; t < kThreads; t += 2) threads[t].join();
    while (standing != kThreads / 2) std::this_thread::yield();
  }
  ASSERT_TRUE(Profile::Stop().ok());
  const AttributedProfile profile = Attributed();
  stopped = true;
  {
    const NativeRegion native;
    for (int t = 1; t < kThreads; t += 2) threads[t].join();
  }
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), kThreads * 10000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "open"), kThreads / 2 * kCellBytes);
  const HeapStatistics after = heap_->statistics();
  EXPECT_TRUE(profile.mlmon.total == 8 * MlmonInt(after.allocated_words));
  EXPECT_TRUE(profile.mlmon.total_gc == 8 * MlmonInt(after.promoted_words));
}

TEST_F(ManagedProfileTest, CallsAreCounted) {
  Start(ProfileStyle::kStack, ProfileKind::kCount);
  Recursive(5);
  Scope();
  ASSERT_TRUE(Profile::Stop().ok());
  const AttributedProfile profile = Attributed(data_);
  EXPECT_EQ(Bytes(profile, "small"), 6);
  EXPECT_EQ(Bytes(profile, "build"), 1);
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), 1);
  EXPECT_TRUE(CountOf(profile, "allomon::gc::Scope").stack == 3);
  EXPECT_TRUE(profile.mlmon.total == 8);
}

TEST_F(ManagedProfileTest, CollectorIsInTheThirdColumnOfItsCallers) {
  Start(ProfileStyle::kStack);
  {
    const ManagedCall call(kOpen);
    const Local<Cell> list = Build(100);
    heap_->Collect(CollectionKind::kMinor);
  }
  const AttributedProfile profile = StopAndCompare();
  EXPECT_TRUE(CountOf(profile, "open").stack_gc == 100 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "build").stack_gc == 0);
  EXPECT_TRUE(CountOf(profile, "<gc>").stack_gc == 100 * kCellBytes);
}

// A sample of one in a few words estimates the same bytes.
TEST_F(ManagedProfileTest, SampledBlocksHaveTheirHeaderToo) {
  ProfileOptions options;
  options.rate = 0.9999;
  options.seed = 1;
  ASSERT_TRUE(Profile::Start(options).ok());
  for (int i = 0; i < 1000; ++i) Small();
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_EQ(Bytes(Attributed(data_), "build"), 2000 * kCellBytes);
}

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
void Burn(double seconds) {
  for (const double end = ThreadSeconds() + seconds; ThreadSeconds() < end;) {
  }
}

// A collection that takes its time.
class SlowCollections : public HeapListener {
 public:
  void OnCollectionStart(CollectionKind) override { Burn(0.5); }
};

TEST(ManagedTimeTest, TimeOfCollectionsIsTheCollectors) {
  SlowCollections slow;
  HeapOptions heap_options;
  heap_options.listener = &slow;
  const auto heap = Heap::Create(heap_options).value();
  {
    const Mutator mutator(*heap);
    ProfileOptions options;
    options.kind = ProfileKind::kTime;
    options.style = ProfileStyle::kStack;
    ASSERT_TRUE(Profile::Start(options).ok());
    {
      const ManagedCall call(kOpen);
      Burn(0.3);
      heap->Collect(CollectionKind::kMinor);
      Burn(0.2);
    }
    ASSERT_TRUE(Profile::Stop().ok());
  }
  const AttributedProfile profile = Attributed();
  const MlmonCount open = CountOf(profile, "open");
  // A tick that comes late, which a busy machine makes it, charges what was before it too; no
  // lateness turns half a second into a quarter.
  EXPECT_TRUE(profile.mlmon.total_gc > 25);
  EXPECT_TRUE(open.current > 25);
  EXPECT_TRUE(profile.mlmon.total + profile.mlmon.total_gc > 98);
  EXPECT_TRUE(open.stack == open.current);
  EXPECT_TRUE(open.stack_gc == profile.mlmon.total_gc);
}

}  // namespace
}  // namespace allomon::gc
