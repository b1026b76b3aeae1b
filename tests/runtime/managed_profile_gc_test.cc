// Profiles of a managed heap by function: the time and bytes that its collections use, and the
// results that collections do not change.
#include <ctime>
#include <numeric>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/managed_profile_case.h"
#include "tracker/core/control.h"
#include "tracker/profile/sources/live_session.h"

namespace allomon::gc {
namespace {

using testing::Attributed;
using testing::CountOf;

// The nurseries are emptied again and again, and the survivors are moved.
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
  // The list, and what words of the stack have kept by chance.
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

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
void Burn(double seconds) {
  for (const double end = ThreadSeconds() + seconds; ThreadSeconds() < end;) {
  }
}

// A listener that makes each collection last.
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
  const NamedProfile profile = Attributed();
  const MlmonCount open = CountOf(profile, "open");
  // A tick that comes late, as on a busy machine, also charges what was before it.  No lateness
  // turns half a second into a quarter.
  EXPECT_TRUE(profile.mlmon.total_gc > 25);
  EXPECT_TRUE(open.current > 25);
  EXPECT_TRUE(profile.mlmon.total + profile.mlmon.total_gc > 98);
  EXPECT_TRUE(open.stack == open.current);
  EXPECT_TRUE(open.stack_gc == profile.mlmon.total_gc);
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
  allomon::internal::StopAndDiscardSession(session.id);
}

}  // namespace
}  // namespace allomon::gc
