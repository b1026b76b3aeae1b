// A block has the labels of the scopes that are open, however these open and close.
#include <csetjmp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/labels/labelled.h"

namespace allomon {
namespace {

using testing::Counts;
using testing::Labelled;

TEST(ScopesTest, NestedScopesAddUpAndTheInnerOneWins) {
  Labelled labelled;
  EXPECT_EQ(labelled.Now(), "");
  const ScopedLabel tenant("tenant", "acme");
  EXPECT_EQ(labelled.Now(), "tenant=acme");
  {
    const ScopedLabel request("request", "7");
    EXPECT_EQ(labelled.Now(), "request=7 tenant=acme");
    const ScopedLabel other("tenant", "zeta");
    EXPECT_EQ(labelled.Now(), "request=7 tenant=zeta");
  }
  EXPECT_EQ(labelled.Now(), "tenant=acme");
}

TEST(ScopesTest, OrderOfPushesDoesNotMatter) {
  Labels one, other;
  {
    const ScopedLabel a("a", "1");
    const ScopedLabel b("b", "2");
    one = CurrentLabels();
  }
  const ScopedLabel b("b", "2");
  EXPECT_NE(CurrentLabels(), one);
  const ScopedLabel a("a", "1");
  other = CurrentLabels();
  EXPECT_EQ(one, other);
}

// A set that was cached for an outer scope is not used for the inner one.
TEST(ScopesTest, WhatWasAskedOutsideIsNotKeptInside) {
  const ScopedLabel tenant("tenant", "acme");
  const Labels outer = CurrentLabels();
  for (const char* const value : {"1", "2"}) {
    const ScopedLabel request("request", value);
    EXPECT_NE(CurrentLabels(), outer);
    Labelled labelled;
    EXPECT_EQ(labelled.Now(), std::string("request=") + value + " tenant=acme");
  }
  EXPECT_EQ(CurrentLabels(), outer);
}

TEST(ScopesTest, TextsOfAllKinds) {
  Labelled labelled;
  const std::string value = "of a string";
  const ScopedLabel string("string", value);
  const ScopedLabel view("view", std::string_view("a view that goes on").substr(0, 6));
  const ScopedLabel empty("empty", "");
  const ScopedLabel null("null", static_cast<const char*>(nullptr));
  const ScopedLabel zero("zero", std::string_view("cut\0here", 8));
  EXPECT_EQ(labelled.Now(), "empty= null= string=of a string view=a view zero=cut");
  allomon_label_scope no_key;
  allomon_label_push(&no_key, nullptr, "value");
  EXPECT_EQ(labelled.Now(), "empty= null= string=of a string view=a view zero=cut");
  allomon_label_pop(&no_key);
}

// The text would be destroyed before the scope ends.
TEST(ScopesTest, TemporaryStringIsRefusedAtCompileTime) {
  static_assert(std::is_constructible_v<ScopedLabel, const char*, const std::string&>);
  static_assert(std::is_constructible_v<ScopedLabel, const char*, std::string&>);
  static_assert(!std::is_constructible_v<ScopedLabel, const char*, std::string>);
  static_assert(!std::is_constructible_v<ScopedLabel, std::string, const char*>);
  static_assert(!std::is_constructible_v<ScopedLabel, const char*, const std::string>);
  static_assert(!std::is_copy_constructible_v<ScopedLabel>);
}

void ThrowInScopes(Labelled* labelled) {
  const ScopedLabel tenant("tenant", "acme");
  const ScopedLabel request("request", "7");
  EXPECT_EQ(labelled->Now(), "phase=test request=7 tenant=acme");
  throw std::runtime_error("unwinds both");
}

TEST(ScopesTest, ExceptionClosesScopes) {
  Labelled labelled;
  const uint64_t misplaced = Counts().misplaced_pops;
  const ScopedLabel phase("phase", "test");
  EXPECT_THROW(ThrowInScopes(&labelled), std::runtime_error);
  EXPECT_EQ(labelled.Now(), "phase=test");
  EXPECT_EQ(Counts().misplaced_pops, misplaced);
}

TEST(ScopesTest, PopOfAnOuterScopeEndsTheInnerOnes) {
  Labelled labelled;
  const uint64_t misplaced = Counts().misplaced_pops;
  const ScopedLabel phase("phase", "test");
  allomon_label_scope outer, inner;
  allomon_label_push(&outer, "tenant", "acme");
  allomon_label_push(&inner, "request", "7");
  allomon_label_pop(&outer);
  EXPECT_EQ(labelled.Now(), "phase=test");
  allomon_label_pop(&inner);  // has ended
  allomon_label_pop(&inner);
  EXPECT_EQ(labelled.Now(), "phase=test");
  EXPECT_EQ(Counts().misplaced_pops, misplaced + 3);
}

// Imitates interleaved coroutines: an ended scope's pop finds others at the same depth.
TEST(ScopesTest, LatePopDoesNotTouchScopesThatCameSince) {
  Labelled labelled;
  allomon_label_scope first, second, third, fourth;
  allomon_label_push(&first, "a", "1");
  allomon_label_push(&second, "b", "2");
  allomon_label_pop(&first);
  allomon_label_push(&third, "c", "3");
  allomon_label_push(&fourth, "d", "4");
  allomon_label_pop(&second);
  EXPECT_EQ(labelled.Now(), "c=3 d=4");
  allomon_label_pop(&fourth);
  allomon_label_pop(&third);
  EXPECT_EQ(labelled.Now(), "");
}

std::jmp_buf g_way_out;

__attribute__((noinline)) void LeaveByLongjmp() {
  allomon_label_scope inner;
  allomon_label_push(&inner, "request", "7");
  std::longjmp(g_way_out, 1);
}

__attribute__((noinline)) void Overwrite() {
  volatile char room[4096];
  for (volatile char& byte : room) byte = 0x55;
}

TEST(ScopesTest, LongjmpOverAScope) {
  Labelled labelled;
  static allomon_label_scope outer;
  for (const bool is_overwritten : {false, true}) {
    allomon_label_push(&outer, "tenant", "acme");
    if (setjmp(g_way_out) == 0) LeaveByLongjmp();
    if (is_overwritten) Overwrite();
    allomon_label_pop(&outer);
    EXPECT_EQ(labelled.Now(), "");
  }
}

TEST(ScopesTest, PopOnAnotherThreadDoesNothingThere) {
  const uint64_t misplaced = Counts().misplaced_pops;
  allomon_label_scope scope;
  allomon_label_push(&scope, "tenant", "acme");
  std::thread([&scope] {
    const ScopedLabel own("own", "label");
    const Labels before = CurrentLabels();
    allomon_label_pop(&scope);
    EXPECT_EQ(CurrentLabels(), before);
  }).join();
  EXPECT_EQ(Counts().misplaced_pops, misplaced + 1);
  // The list is broken at this point: blocks get no labels from it, and a pop does as much as it
  // can.
  EXPECT_TRUE(CurrentLabels().empty());
  allomon_label_pop(&scope);
}

// A loop that is left by longjmp each time pushes the same scopes again.
TEST(ScopesTest, ScopeThatIsPushedAgain) {
  Labelled labelled;
  const ScopedLabel phase("phase", "test");
  allomon_label_scope outer, inner;
  for (const char* const tenant : {"acme", "zeta"}) {
    allomon_label_push(&outer, "tenant", tenant);
    allomon_label_push(&inner, "request", "7");
    allomon_label_push(&inner, "request", "8");
    EXPECT_EQ(labelled.Now(), std::string("phase=test request=8 tenant=") + tenant);
  }
  allomon_label_pop(&outer);
  EXPECT_EQ(labelled.Now(), "phase=test");
}

TEST(ScopesTest, DeepRecursionOfScopes) {
  Labelled labelled;
  const ScopedLabel tenant("tenant", "acme");
  std::vector<allomon_label_scope> scopes(20'000);
  for (allomon_label_scope& scope : scopes) allomon_label_push(&scope, "depth", "inner");
  EXPECT_EQ(labelled.Now(), "depth=inner tenant=acme");
  for (size_t i = scopes.size(); i-- > 0;) allomon_label_pop(&scopes[i]);
  EXPECT_EQ(labelled.Now(), "tenant=acme");
}

TEST(ScopesTest, ThreadsHaveTheirOwnLabels) {
  const ScopedLabel tenant("tenant", "of main");
  const Labels of_main = CurrentLabels();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, of_main] {
      EXPECT_TRUE(CurrentLabels().empty());
      const std::string name = "thread " + std::to_string(t % 2);
      for (int i = 0; i < 2000; ++i) {
        const ScopedLabel own("tenant", name);
        EXPECT_NE(CurrentLabels(), of_main);
        const std::string number = std::to_string(i);
        const ScopedLabel request("request", number);
        EXPECT_FALSE(CurrentLabels().empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CurrentLabels(), of_main);
}

TEST(ScopesTest, SnapshotByLabels) {
  const Labelled labelled;
  std::vector<void*> blocks;
  blocks.push_back(SamplingMalloc(100));
  for (int i = 0; i < 6; ++i) {
    const ScopedLabel tenant("tenant", i % 3 == 0 ? "acme" : "zeta");
    blocks.push_back(SamplingMalloc(1000));
  }
  const std::vector<LiveLabels> live = Tracker::snapshot_by_labels(labelled.id());
  ASSERT_EQ(live.size(), 3u);
  EXPECT_EQ(testing::TextOf(live[0].labels), "tenant=zeta");
  EXPECT_EQ(live[0].sampled_blocks, 4u);
  EXPECT_EQ(live[0].estimate.bytes.value, 4000);
  EXPECT_EQ(testing::TextOf(live[1].labels), "tenant=acme");
  EXPECT_EQ(testing::TextOf(live[2].labels), "");
  EXPECT_EQ(live[2].estimate.bytes.value, 100);
  for (void* const block : blocks) SamplingFree(block);
}

}  // namespace
}  // namespace allomon
