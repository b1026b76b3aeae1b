#include "tracker/profile/record/stack_counts.h"

#include <cstdint>
#include <map>

#include "gtest/gtest.h"
#include "tracker/core/stack_table.h"

namespace allomon::internal {
namespace {

// The number of stacks that one segment holds; a profile's first array is one segment.
constexpr uint32_t kSegmentStacks = 4096;

StackId InternAnother() {
  static uintptr_t frame = 0x1000;
  ++frame;
  return Stacks().Intern(&frame, 1, false);
}

std::map<uint32_t, uint64_t> Found(const StackCounts& counts) {
  std::map<uint32_t, uint64_t> found;
  counts.ForEach([&found](uint32_t stack, uint64_t amount) {
    EXPECT_TRUE(found.empty() || found.rbegin()->first < stack) << "in order of their ids";
    found[stack] = amount;
  });
  return found;
}

// The last stack may be the first one of a segment.
TEST(StackCountsTest, EveryStackIsVisitedAcrossTheEndsOfSegments) {
  static StackCounts counts;
  EXPECT_TRUE(Found(counts).empty());
  std::map<uint32_t, uint64_t> added;
  StackId id = 0;
  while (id < 2 * kSegmentStacks + 1) {
    id = InternAnother();
    counts.Add(id, id + uint64_t{1});
    added[id] += id + uint64_t{1};
    const bool is_next_to_an_end = id % kSegmentStacks <= 1 || id % kSegmentStacks > 4094;
    if (is_next_to_an_end || id < 10) {
      ASSERT_EQ(Found(counts), added) << "at " << id;
    }
  }
}

TEST(StackCountsTest, StackWithoutAnIdCountsAsNone) {
  static StackCounts counts;
  counts.Add(0, 7);
  EXPECT_EQ(Found(counts), (std::map<uint32_t, uint64_t>{{0, 7}}));
}

TEST(StackCountsTest, ClearedStacksAreNotVisited) {
  static StackCounts counts;
  const StackId id = InternAnother();
  counts.Add(id, 5);
  counts.Add(0, 7);
  counts.Clear();
  EXPECT_TRUE(Found(counts).empty());
  counts.Add(id, 3);
  EXPECT_EQ(Found(counts), (std::map<uint32_t, uint64_t>{{id, 3}}));
}

}  // namespace
}  // namespace allomon::internal
