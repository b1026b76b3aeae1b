// Profiles of a managed heap by function: calls that nest, recurse, are left by exceptions and
// longjmp, or were open before the profile started.
#include <csetjmp>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/managed_profile_case.h"

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

}  // namespace
}  // namespace allomon::gc
