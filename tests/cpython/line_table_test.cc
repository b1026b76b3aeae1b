// Python's line tables, intact and damaged.
#include "tracker/cpython/line_table.h"

#include <cstdlib>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::cpython {
namespace {

using Bytes = std::vector<uint8_t>;

uint32_t LineOf(const Bytes& table, int first_line, int unit) {
  return LineOfUnit(table.data(), table.size(), first_line, unit);
}

// A row's first byte.
uint8_t Head(int kind, int units) { return static_cast<uint8_t>(0x80 | kind << 3 | (units - 1)); }

TEST(LineTableTest, RowsOfAllKinds) {
  const Bytes table = {
      Head(3, 2),  0x15,                          // the same line, short columns
      Head(11, 1), 4,    9,                       // one line further
      Head(13, 3), 0x05,                          // two lines back: -2
      Head(14, 1), 0x49, 0x01, 0x02, 0x03, 0x04,  // long: -36
      Head(15, 2),                                // no line
      Head(12, 8), 1,    2,                       // two further
  };
  const uint32_t expected[] = {100, 100, 101, 99, 99, 99, 63, 0, 0, 65};
  for (int unit = 0; unit < 10; ++unit) EXPECT_EQ(LineOf(table, 100, unit), expected[unit]) << unit;
  EXPECT_EQ(LineOf(table, 100, 16), 65u);
  EXPECT_EQ(LineOf(table, 100, 17), 0u);
}

TEST(LineTableTest, AFrameThatIsNewIsAtTheFirstLine) {
  EXPECT_EQ(LineOf({}, 7, -1), 7u);
  EXPECT_EQ(LineOf({}, -3, -1), 0u);
}

TEST(LineTableTest, WhatIsNoRowHasNoLine) {
  EXPECT_EQ(LineOf({0x05, 0x05}, 7, 0), 0u);
  EXPECT_EQ(LineOf({}, 7, 0), 0u);
}

// Each table ends where its memory ends, so that the address sanitizer detects reads past it.
TEST(LineTableTest, DamagedTablesAreReadToTheirEndAtMost) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const size_t size = random() % 24;
    uint8_t* const table = static_cast<uint8_t*>(malloc(size));
    for (size_t i = 0; i < size; ++i) table[i] = static_cast<uint8_t>(random());
    for (int unit = -1; unit < 40; ++unit) LineOfUnit(table, size, 10, unit);
    free(table);
  }
}

}  // namespace
}  // namespace allomon::cpython
