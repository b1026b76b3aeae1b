// Profiles of a managed heap by function: calls that nest, recurse, are left by exceptions and
// longjmp, or were open before the profile started; the collector's share; and time.
#include <csetjmp>
#include <ctime>
#include <numeric>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/managed_profile_case.h"
#include "tracker/core/control.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/live_session.h"
#include "tracker/profile/sources/thread_timers.h"

namespace allomon::gc {
namespace {

using testing::Attributed;
using testing::CountOf;

void Recursive(int depth) {
  const ManagedCall call(kSmall);
  make<Cell>(0, nullptr);
  if (depth > 1) Recursive(depth - 1);
  make<Cell>(0, nullptr);
}

void ThrowFrom(int depth) {
  const ManagedCall call(depth % 2 == 0 ? kSmall : kBuild);
  make<Cell>(0, nullptr);
  if (depth == 0) throw 1;
  ThrowFrom(depth - 1);
}

TEST_F(ManagedProfileTest, ScopesAndManagedCallsNest) {
  Start();
  for (int i = 0; i < 10; ++i) Scope();
  const NamedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "small"), 20 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 20 * kCellBytes);
}

TEST_F(ManagedProfileTest, FunctionThatCallsItself) {
  Start(ProfileStyle::kStack);
  Build(1);
  Recursive(100);
  Build(1);
  const NamedProfile profile = StopAndCompare();
  EXPECT_TRUE(CountOf(profile, "small").current == 200 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "small").stack == 200 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "build").stack == 2 * kCellBytes);
}

TEST_F(ManagedProfileTest, ExceptionsEndCalls) {
  Start(ProfileStyle::kStack);
  EXPECT_THROW(ThrowFrom(9), int);
  make<Cell>(0, nullptr);
  const NamedProfile profile = StopAndCompare();
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
  if (depth == 0) longjmp(g_jump, 1);  // NOLINT: longjmp is tested here
}

TEST_F(ManagedProfileTest, MarkThatIsCutBackToEndsCalls) {
  Start();
  const ManagedCallMark mark;
  if (setjmp(g_jump) == 0) JumpFrom(9);  // NOLINT
  mark.CutBack();
  make<Cell>(0, nullptr);
  Small();
  const NamedProfile profile = StopAndCompare();
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
  const NamedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 3 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "open"), kCellBytes);
  EXPECT_EQ(Bytes(profile, "<main>"), kCellBytes);
  EXPECT_TRUE(CountOf(profile, "open").stack == 7 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "small").stack == 5 * kCellBytes);
}

TEST_F(ManagedProfileTest, CallsAreCounted) {
  Start(ProfileStyle::kStack, ProfileKind::kCount);
  Recursive(5);
  Scope();
  ASSERT_TRUE(Profile::Stop().ok());
  const NamedProfile profile = Attributed(data_);
  EXPECT_EQ(Bytes(profile, "small"), 6);
  EXPECT_EQ(Bytes(profile, "build"), 1);
  EXPECT_EQ(Bytes(profile, "allomon::gc::Scope"), 1);
  EXPECT_TRUE(CountOf(profile, "allomon::gc::Scope").stack == 3);
  EXPECT_TRUE(profile.mlmon.total == 8);
}

// Profiles of a managed heap by function: the bytes that its collections use, and the results that
// collections do not change.

// The nurseries are emptied repeatedly, and the survivors are moved.
TEST_F(ManagedProfileTest, CollectionsInTheMiddleOfFunctions) {
  Start();
  const uint64_t before = heap_->statistics().promoted_words;
  {
    const ManagedCall call(kSmall);
    const Root<Cell> list = Build(300000);
    for (int i = 0; i < 300000; ++i) make<Cell>(i, list);
    heap_->CollectFromTop(CollectionKind::kMajor);
  }
  const NamedProfile profile = StopAndCompare();
  EXPECT_EQ(Bytes(profile, "small"), 300000 * kCellBytes);
  EXPECT_EQ(Bytes(profile, "build"), 300000 * kCellBytes);
  // The list, and objects that words of the stack have kept by chance.
  const uint64_t promoted_words = heap_->statistics().promoted_words - before;
  EXPECT_EQ(Bytes(profile, "<gc>"), promoted_words * 8);
  EXPECT_GE(Bytes(profile, "<gc>"), 300000 * kCellBytes);
  EXPECT_LE(Bytes(profile, "<gc>"), 301000 * kCellBytes);
}

TEST_F(ManagedProfileTest, CollectorIsInTheThirdColumnOfItsCallers) {
  Start(ProfileStyle::kStack);
  {
    const ManagedCall call(kOpen);
    const Root<Cell> list = Build(100);
    heap_->CollectFromTop(CollectionKind::kMinor);
  }
  const NamedProfile profile = StopAndCompare();
  EXPECT_TRUE(CountOf(profile, "open").stack_gc == 100 * kCellBytes);
  EXPECT_TRUE(CountOf(profile, "build").stack_gc == 0);
  EXPECT_TRUE(CountOf(profile, "<gc>").stack_gc == 100 * kCellBytes);
}

// Live objects are as large as in a profile of allocated bytes, where the header is a part of the
// object.
TEST_F(ManagedProfileTest, LiveObjectsAreAsLargeAsAllocatedOnes) {
  const allomon::internal::StartResult session = allomon::internal::StartLiveSession(1, 1, 0);
  ASSERT_NE(session.id, 0u);
  {
    const Root<Cell> list = Build(10);
    const allomon::internal::LiveHeap heap = allomon::internal::LiveHeapOf(session.id);
    EXPECT_EQ(std::accumulate(heap.bytes_by_stack.begin(), heap.bytes_by_stack.end(), 0.0),
              10 * kCellBytes);
  }
  allomon::internal::StopAndDiscardSession(session.id, allomon::internal::SessionKind::kProfile);
}

// Profiles of time while a managed heap collects.

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Takes at least that time, and ends right after a tick.  A tick charges the time since the last
// one to the place at which it comes, and on a busy machine it came 0.25 s late: the next place's
// tick must not find time of this place.
void BurnToATick(double seconds) {
  for (const double end = ThreadSeconds() + seconds; ThreadSeconds() < end;) {
  }
  ASSERT_NE(allomon::internal::thread_profile.timer, nullptr);
  const std::atomic<uint64_t>& charged_ns = allomon::internal::thread_profile.timer->charged_ns;
  const uint64_t before = charged_ns;
  while (charged_ns == before) ThreadSeconds();  // tsan delivers signals in calls
}

// Prolongs the first collection.  Another one comes when the mutator ends.
class SlowCollections : public HeapListener {
 public:
  void OnCollectionStart(CollectionKind) override {
    if (seconds_ != 0) return;
    const double start = ThreadSeconds();
    BurnToATick(0.5);
    seconds_ = ThreadSeconds() - start;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

TEST(ManagedTimeTest, TimeOfCollectionsIsTheCollectors) {
  SlowCollections slow;
  HeapOptions heap_options;
  heap_options.listener = &slow;
  const auto heap = Heap::Create(heap_options).value();
  const Mutator mutator(*heap);
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  const double start = ThreadSeconds();
  {
    const ManagedCall call(kOpen);
    BurnToATick(0.3);
    heap->Collect(CollectionKind::kMinor);
    BurnToATick(0.2);
  }
  const double open_ticks = (ThreadSeconds() - start - slow.seconds()) * 100;
  ASSERT_TRUE(Profile::Stop().ok());

  const NamedProfile profile = Attributed();
  const MlmonCount open = CountOf(profile, "open");
  EXPECT_NEAR(static_cast<double>(open.current), open_ticks, 2);
  EXPECT_NEAR(static_cast<double>(profile.mlmon.total_gc), slow.seconds() * 100, 2);
  EXPECT_TRUE(profile.mlmon.total + profile.mlmon.total_gc > 98);
  EXPECT_TRUE(open.stack == open.current);
  EXPECT_TRUE(open.stack_gc == profile.mlmon.total_gc);
}

}  // namespace
}  // namespace allomon::gc
