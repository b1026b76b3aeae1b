#include "tracker/core/stack_table.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

StackTable& Table() {
  static StackTable* const table = new StackTable;
  return *table;
}

TEST(StackTableTest, EqualStacksHaveEqualIds) {
  const uintptr_t frames[] = {10, 20, 30};
  const uintptr_t copy[] = {10, 20, 30};
  EXPECT_EQ(Table().Intern(frames, 3, false), Table().Intern(copy, 3, false));
}

TEST(StackTableTest, PrefixAndCutStackAreOthers) {
  const uintptr_t frames[] = {11, 21, 31};
  const StackId whole = Table().Intern(frames, 3, false);
  EXPECT_NE(whole, Table().Intern(frames, 2, false));
  EXPECT_NE(whole, Table().Intern(frames, 3, true));
}

TEST(StackTableTest, EmptyStackIsZero) {
  EXPECT_EQ(Table().Intern(nullptr, 0, false), 0u);
  EXPECT_EQ(Table().View(0).depth, 0u);
}

TEST(StackTableTest, UnknownIdIsTheEmptyStack) {
  EXPECT_EQ(Table().View(4000000).depth, 0u);
  EXPECT_EQ(Table().View(UINT32_MAX).depth, 0u);
}

TEST(StackTableTest, ViewsSurviveGrowth) {
  StackTable table;
  std::vector<StackId> ids;
  for (uintptr_t i = 0; i < 20000; ++i) {
    const uintptr_t frames[] = {i, i * 7, i ^ 0x5555};
    ids.push_back(table.Intern(frames, 3, i % 2 != 0));
  }
  for (uintptr_t i = 0; i < 20000; ++i) {
    const StackView view = table.View(ids[i]);
    ASSERT_EQ(view.depth, 3u);
    ASSERT_EQ(view.frames[0], i);
    ASSERT_EQ(view.frames[1], i * 7);
    ASSERT_EQ(view.cut, i % 2 != 0);
  }
  EXPECT_EQ(table.size(), 20000u);
}

StackId InternNumber(StackTable& table, uintptr_t number) {
  const uintptr_t frames[] = {number, number + 1, number + 2, number + 3};
  return table.Intern(frames, 4, false);
}

// So many stacks that buckets and stacks lie in pages of 2 MiB.
TEST(StackTableTest, ManyStacks) {
  constexpr uintptr_t kStacks = 200000;
  StackTable table;
  for (uintptr_t i = 0; i < kStacks; ++i) ASSERT_EQ(InternNumber(table, i), i + 1);
  for (uintptr_t i = 0; i < kStacks; ++i) ASSERT_EQ(InternNumber(table, i), i + 1);
  EXPECT_EQ(table.View(kStacks).frames[3], kStacks + 2);
}

// The budget refuses 2 MiB, but not less.
TEST(StackTableTest, StacksGoOnWhereThereIsNoRoomForAPageOf2MiB) {
  constexpr uintptr_t kFirst = 100000;  // these take 4 MiB and part of the first 2 MiB after them
  StackTable table;
  for (uintptr_t i = 0; i < kFirst; ++i) ASSERT_NE(InternNumber(table, i), 0u);
  OwnMemory::SetBudgetBytes(OwnMemory::mapped_bytes() + (size_t{1} << 20));
  StackId last = 0;
  uintptr_t next = kFirst;
  while (const StackId id = InternNumber(table, next)) {
    last = id;
    ++next;
  }
  OwnMemory::SetBudgetBytes(kDefaultOwnMemoryBudgetBytes);
  // The rest of the 2 MiB, and the stacks for which the budget had room.
  EXPECT_GT(next - kFirst, (size_t{512} << 10) / 40);
  EXPECT_EQ(table.View(last).frames[0], next - 1);
  EXPECT_EQ(InternNumber(table, next), last + 1);
}

TEST(StackTableTest, ViewIsThatOfTheId) {
  const uintptr_t frames[] = {12, 22, 32};
  const StackKey key(frames, 3, true);
  EXPECT_EQ(Table().Find(key).id, 0u);
  const InternedStack inserted = Table().Insert(key);
  // The last insertion behaves as if another thread had inserted the stack meanwhile.
  for (const InternedStack& stack : {inserted, Table().Find(key), Table().Insert(key)}) {
    EXPECT_EQ(stack.id, inserted.id);
    EXPECT_EQ(stack.view.frames, Table().View(stack.id).frames);
    EXPECT_EQ(stack.view.depth, 3u);
    EXPECT_TRUE(stack.view.cut);
  }
  EXPECT_EQ(Table().Insert(StackKey(nullptr, 0, false)).id, 0u);
}

// Memory for the table of ids is refused while the arena still has room.
TEST(StackTableTest, StackThatFindsNoRoomUsesUpNone) {
  constexpr uintptr_t kFull = 16384;  // ids from here on need another segment
  StackTable table;
  StackId last = 0;
  const auto intern = [&table](uintptr_t frame) {
    const uintptr_t frames[] = {frame, frame, frame};
    return table.Intern(frames, 3, false);
  };
  for (uintptr_t i = 1; i < kFull; ++i) last = intern(i);
  ASSERT_EQ(last, kFull - 1);
  const uintptr_t* const before = table.View(last).frames;
  OwnMemory::SetBudgetBytes(OwnMemory::mapped_bytes());
  for (uintptr_t i = 0; i < 100; ++i) EXPECT_EQ(intern(kFull + i), 0u);
  OwnMemory::SetBudgetBytes(kDefaultOwnMemoryBudgetBytes);
  const StackId next = intern(kFull);
  ASSERT_EQ(next, kFull);
  EXPECT_EQ(table.View(next).frames, before + 5) << "two words of its own, and three frames";
}

// Two threads that meet a stack at the same time must agree on its id.
TEST(StackTableTest, ThreadsAgreeOnIds) {
  StackTable table;
  constexpr int kThreads = 4;
  constexpr uintptr_t kStacks = 3000;
  std::vector<std::vector<StackId>> ids(kThreads, std::vector<StackId>(kStacks));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &ids, t] {
      for (uintptr_t i = 0; i < kStacks; ++i) {
        const uintptr_t frames[] = {i, i + 1};
        ids[static_cast<size_t>(t)][i] = table.Intern(frames, 2, false);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(ids[0], ids[static_cast<size_t>(t)]);
  EXPECT_EQ(table.size(), kStacks);
}

}  // namespace
}  // namespace allomon::internal
