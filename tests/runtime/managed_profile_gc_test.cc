// Profiles of a managed heap by function: the bytes that its collections use, and the results that
// collections do not change.
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

}  // namespace
}  // namespace allomon::gc
