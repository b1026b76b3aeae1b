#include "tracker/formats/mon_file.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/formats/mon_layout.h"

namespace allomon {
namespace {

MonRange Example() {
  MonRange range;
  range.low = 0x401000;
  range.high = 0x401020;
  range.bias = 0x400000;
  range.ticks = 12;
  range.other_ticks = 3;
  range.build_id = "00ff10a5";
  range.count_room = 3;
  range.counts = {{0x401000, 7}, {0x401010, 1}};
  range.cells = {1, 2, 3, 0, 0, 0, 0, 6};
  return range;
}

std::vector<MonRange> Examples() {
  MonRange second = Example();
  second.low += 0x1000;
  second.high += 0x1000;
  second.other_ticks = 0;
  second.counts = {};
  second.saturated = true;
  second.cells = {65535};
  second.cell_bytes = 29;
  return {Example(), second};
}

TEST(MonFileTest, EveryByteIsWhereTheManualSays) {
  const std::string file = FormatMon({Example()});
  ASSERT_EQ(file.size(), 96u + 3 * 16 + 8 * 2);
  const unsigned char header[96] = {0x00, 0x10, 0x40, 0,    0,   0,   0,   0,    // lpc
                                    0x20, 0x10, 0x40, 0,    0,   0,   0,   0,    // hpc
                                    3,    0,    0,    0,    'm', 'o', 'n', '1',  // nfns, magic
                                    8,    0,    0,    0,    4,   0,   0,   0,  // ncells, cell_bytes
                                    100,  0,    0,    0,    0,   0,   0,   0,  // hz, flags
                                    0,    0,    0x40, 0,    0,   0,   0,   0,  // bias
                                    12,   0,    0,    0,    0,   0,   0,   0,  // ticks
                                    3,    0,    0,    0,    0,   0,   0,   0,  // other_ticks
                                    4,    0x00, 0xff, 0x10, 0xa5};             // build id
  EXPECT_EQ(memcmp(file.data(), header, sizeof(header)), 0);
  const unsigned char counts[48] = {0x00, 0x10, 0x40, 0,    0,    0,    0, 0, 7, 0, 0, 0, 0,
                                    0,    0,    0,    0x10, 0x10, 0x40, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(memcmp(file.data() + 96, counts, sizeof(counts)), 0);
  EXPECT_EQ(file[96 + 48], 1);
  EXPECT_EQ(file[96 + 48 + 14], 6);
}

TEST(MonFileTest, WhatWasReadIsWrittenBack) {
  const std::string file = FormatMon(Examples());
  std::vector<MonRange> ranges;
  std::string error;
  ASSERT_TRUE(ParseMon(file, &ranges, &error)) << error;
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].counts.size(), 2u);
  EXPECT_EQ(ranges[0].counts[1].calls, 1u);
  EXPECT_EQ(ranges[0].build_id, "00ff10a5");
  EXPECT_EQ(ranges[0].cells[7], 6);
  EXPECT_TRUE(ranges[1].saturated);
  EXPECT_EQ(FormatMon(ranges), file);
}

TEST(MonFileTest, FileThatIsCutOffAnywhereIsRefused) {
  const std::string file = FormatMon(Examples());
  const size_t first = FormatMon({Example()}).size();
  for (size_t length = 0; length < file.size(); ++length) {
    std::vector<MonRange> ranges;
    std::string error;
    EXPECT_EQ(ParseMon(file.substr(0, length), &ranges, &error), length == first) << length;
    EXPECT_TRUE(length == first || !error.empty());
  }
}

// Whatever the bytes, the file is either refused in one line or read so exactly that it is written
// back the same.
TEST(MonFileTest, DamagedFilesAreRefusedOrUnderstood) {
  const std::string file = FormatMon(Examples());
  std::mt19937 random(20261121);
  int understood = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string damaged = file;
    for (unsigned k = random() % 4 + 1; k > 0; --k) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    std::vector<MonRange> ranges;
    std::string error;
    if (ParseMon(damaged, &ranges, &error)) {
      ++understood;
      ASSERT_EQ(FormatMon(ranges), damaged);
    } else {
      ASSERT_FALSE(error.empty());
      ASSERT_EQ(error.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(understood, 10000);  // damage in cells and totals cannot be detected
}

TEST(MonFileTest, NumbersThatClaimMoreThanTheFileHoldsAllocateNothing) {
  std::string file = FormatMon({Example()});
  const uint32_t many = 0x7fffffff;
  memcpy(file.data() + 16, &many, 4);
  std::vector<MonRange> ranges;
  std::string error;
  EXPECT_FALSE(ParseMon(file, &ranges, &error));
  EXPECT_EQ(error, "cut off: run the program again");
}

// The manual page states: a buffer of half the size of the region has a count for each 4 bytes.
TEST(MonLayoutTest, CellsFollowFromTheSizeOfTheBuffer) {
  using internal::CellBytes;
  using internal::CellOf;
  EXPECT_EQ(CellBytes(4000, 1000), 4u);
  EXPECT_EQ(CellBytes(4003, 1000), 4u);  // the formula of the page rounds down
  EXPECT_EQ(CellBytes(4004, 1000), 5u);
  EXPECT_EQ(CellBytes(4000, 5000), 4u);  // more room is not finer
  EXPECT_EQ(CellBytes(4000, 500), 8u);
  EXPECT_EQ(CellBytes(4000, 1), 3997u);
  EXPECT_EQ(CellBytes(1, 1), 4u);
  for (const uint64_t bytes : {1, 5, 4000, 4003, 99999}) {
    for (const uint64_t cells : {1, 2, 77, 1000}) {
      const uint64_t cell_bytes = CellBytes(bytes, cells);
      EXPECT_EQ(CellOf(0, cell_bytes, cells), 0u);
      EXPECT_LT(CellOf(bytes - 1, cell_bytes, cells), cells);
    }
  }
}

}  // namespace
}  // namespace allomon
