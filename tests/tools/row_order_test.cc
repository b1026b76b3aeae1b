#include "tools/mlprof/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace allomon::mlprof {
namespace {

template <typename Percent>
std::vector<size_t> Order(size_t count, Percent percent) {
  std::vector<double> percents;
  for (size_t i = 0; i < count; ++i) percents.push_back(percent(i));
  return RowOrder(percents);
}

uint32_t Hash(const std::vector<size_t>& order) {
  uint32_t hash = 2166136261u;
  for (size_t i : order) hash = (hash ^ static_cast<uint32_t>(i)) * 16777619u;
  return hash;
}

TEST(RowOrderTest, NoRowsAndOneRow) {
  EXPECT_TRUE(RowOrder({}).empty());
  EXPECT_EQ(RowOrder({7}), std::vector<size_t>{0});
}

TEST(RowOrderTest, FirstOfTheSmallestIsMovedToTheEndBeforehand) {
  EXPECT_EQ(RowOrder({1, 1, 1}), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(RowOrder({2, 1, 2, 1}), (std::vector<size_t>{0, 2, 3, 1}));
}

// The expected values of the next two tests come from a transcription of MLton's
// lib/mlton/basic/quick-sort.sml into another language.
TEST(RowOrderTest, TiesBeyondTheShortRuns) {
  EXPECT_EQ(Order(30, [](size_t) { return 0; }),
            (std::vector<size_t>{15, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 11,
                                 14, 13, 12, 29, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0}));
}

TEST(RowOrderTest, ManyRowsWithTies) {
  EXPECT_EQ(Hash(Order(1000, [](size_t i) { return i * 37 % 11; })), 0xe71fb5a5u);
  EXPECT_EQ(Hash(Order(100000, [](size_t i) { return i * 7919 % 101; })), 0x0fa2edbdu);
}

TEST(RowOrderTest, AnyNumberOfRowsIsSorted) {
  std::minstd_rand random(1);
  for (size_t count = 0; count < 200; ++count) {
    std::vector<double> percents;
    for (size_t i = 0; i < count; ++i) percents.push_back(random() % 50);
    std::vector<size_t> order = RowOrder(percents);
    for (size_t i = 1; i < count; ++i) {
      ASSERT_GE(percents[order[i - 1]], percents[order[i]]);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(RowOrderTest, SortedInputIsNotQuadratic) {
  const auto up = Order(300000, [](size_t i) { return i; });
  EXPECT_EQ(up.front(), 299999u);
  const auto down = Order(300000, [](size_t i) { return -double(i); });
  EXPECT_EQ(down.front(), 0u);
}

}  // namespace
}  // namespace allomon::mlprof
